#include "mgcompare/arithmetic.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace mgcompare {
namespace {

// The least that a CPU device must be.
class HeapDevice : public Device {
 public:
  explicit HeapDevice(DeviceKind kind = DeviceKind::cpu) : kind_(kind) {}
  DeviceKind kind() const override { return kind_; }
  int index() const override { return 0; }
  void* stream() const override { return nullptr; }
  void* allocate(std::size_t bytes) override { return std::calloc(bytes == 0 ? 1 : bytes, 1); }
  void release(void* memory) noexcept override { std::free(memory); }
  void* allocate_host(std::size_t bytes) override { return allocate(bytes); }
  void release_host(void* memory) noexcept override { release(memory); }
  void copy(void* to, const void* from, std::size_t bytes) override { std::memmove(to, from, bytes); }
  void copy_to_host(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void copy_to_device(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void zero(void* memory, std::size_t bytes) override { std::memset(memory, 0, bytes); }
  void matmul(const Matmul&) override {}
  void synchronize() override {}

 private:
  DeviceKind kind_;
};

TEST(Arithmetic, ForEachVisitsEveryIndexOnce) {
  HeapDevice device;
  const Array<float> seen = device_array<float>(device, 1001);
  float* data = seen.data();
  for_each(device, seen.size(), [=] MGCOMPARE_FUNCTION(std::size_t i) { data[i] += 1; });
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], 1);
}

TEST(Arithmetic, AnotherKindThanItWasCompiledForIsASentence) {
  HeapDevice gpu(DeviceKind::cuda);
  EXPECT_THROW(for_each(gpu, 1, [](std::size_t) {}), Error);
}

TEST(Arithmetic, SegmentedReduceTakesRowsAndColumns) {
  HeapDevice device;
  // A 3 x 4 matrix 0..11: rows, then columns, then nothing.
  std::vector<Segment> segments = {{0, 4, 1}, {4, 4, 1}, {8, 4, 1}, {0, 3, 4}, {3, 3, 4}, {5, 0, 1}};
  const Array<float> sums = device_array<float>(device, segments.size());
  segmented_reduce(device, Span<const Segment>(segments.data(), segments.size()), sums.span(),
                   [](std::size_t i) { return static_cast<float>(i); });
  const std::vector<float> expected = {6, 22, 38, 12, 21, 0};
  for (std::size_t s = 0; s < expected.size(); ++s) EXPECT_EQ(sums[s], expected[s]);
}

TEST(Arithmetic, SelectKeepsOrderAndCountsBeyondItsRoom) {
  HeapDevice device;
  const Array<std::uint32_t> indices = device_array<std::uint32_t>(device, 3), count = device_array<std::uint32_t>(device, 1);
  const Array<std::uint64_t> scratch = device_array<std::uint64_t>(device, selection_scratch(20));
  select(device, 20, [](std::size_t i) { return i % 4 == 1; }, indices.span(), count.span(), scratch.span());
  EXPECT_EQ(count[0], 5u);
  EXPECT_EQ(indices[0], 1u);
  EXPECT_EQ(indices[1], 5u);
  EXPECT_EQ(indices[2], 9u);
}

TEST(Arithmetic, PackBitsBeginsAWordForEachSegment) {
  HeapDevice device;
  std::vector<Segment> segments = {{0, 33, 1}, {33, 2, 1}};
  std::vector<std::uint32_t> first = {1, 4};
  const Array<std::uint32_t> words = device_array<std::uint32_t>(device, 5);
  pack_bits(device, Span<const Segment>(segments.data(), 2), Span<const std::uint32_t>(first.data(), 2), words.span(),
            [](std::size_t i) { return i == 0 || i == 31 || i == 32 || i == 34; });
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[1], 0x80000001u);
  EXPECT_EQ(words[2], 1u);
  EXPECT_EQ(words[3], 0u);
  EXPECT_EQ(words[4], 2u);
}

struct Keys {
  const std::uint32_t* keys;
  std::uint32_t operator()(std::size_t i) const { return keys[i]; }
};

TEST(Arithmetic, SelectLargestTakesTheFirstOfEqualKeys) {
  HeapDevice device;
  const Array<std::uint64_t> scratch = device_array<std::uint64_t>(device, selection_scratch(8));
  const std::vector<std::uint32_t> keys = {5u << 7, 9u << 7, 0, 5u << 7, 1u << 30, 5u << 7, 9u << 20, 0};
  const auto chosen = [&](std::size_t k) {
    const Array<std::uint32_t> indices = device_array<std::uint32_t>(device, k);
    select_largest(device, keys.size(), Keys{keys.data()}, Keys{keys.data()}, indices.span(), scratch.span());
    return std::vector<std::uint32_t>(indices.span().begin(), indices.span().end());
  };
  using Indices = std::vector<std::uint32_t>;
  EXPECT_EQ(chosen(0), Indices());
  EXPECT_EQ(chosen(1), Indices({4}));
  EXPECT_EQ(chosen(3), Indices({1, 4, 6}));
  EXPECT_EQ(chosen(5), Indices({0, 1, 3, 4, 6}));
  EXPECT_EQ(chosen(7), Indices({0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(chosen(8), Indices({0, 1, 2, 3, 4, 5, 6, 7}));
}

// Two bits: whether an element is above its segment's mean, and whether its index is odd.
struct AboveMean {
  static constexpr std::size_t kSums = 1;
  const float* values;
  std::uint32_t* out;
  std::vector<float>* means;
  float load(std::size_t i) const { return values[i]; }
  Sums<1> gather(float value) const { return {{value}}; }
  float levels(std::uint32_t, std::uint32_t count, const Sums<1>& sums) const { return sums.at[0] / static_cast<float>(count); }
  void store(std::uint32_t, float mean) const { means->push_back(mean); }
  std::uint32_t code(std::size_t i, float value, float mean) const { return (value > mean ? 1u : 0u) | (i % 2 == 1 ? 2u : 0u); }
  std::uint32_t* words(std::uint32_t s) const { return out + 4 * s; }
};

TEST(Arithmetic, EncodePacksTheCodesOfASegmentBitByBit) {
  HeapDevice device;
  std::vector<float> values(200);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 31);
  const std::vector<Segment> segments = {{0, 40, 1}, {40, 33, 3}};
  const SegmentTable table(device, segments);
  std::vector<std::uint32_t> words(8);
  std::vector<float> means;
  const AboveMean coder{values.data(), words.data(), &means};
  encode(device, table, 2, coder);
  ASSERT_EQ(means.size(), 2u);
  for (std::uint32_t s = 0; s < 2; ++s)
    for (std::uint32_t j = 0; j < segments[s].count; ++j) {
      const std::size_t i = segments[s].begin + j * segments[s].stride;
      const std::uint32_t* of_group = words.data() + 4 * s + j / 32 * 2;
      EXPECT_EQ((of_group[0] >> (j % 32)) & 1u, values[i] > means[s] ? 1u : 0u) << s << ", " << j;
      EXPECT_EQ((of_group[1] >> (j % 32)) & 1u, i % 2) << s << ", " << j;
    }
}

TEST(Arithmetic, ForEachInMeetsEveryElementWithItsPlace) {
  HeapDevice device;
  const SegmentTable table(device, {{2, 3, 1}, {10, 2, 5}});
  std::vector<std::size_t> seen;
  for_each_in(device, table, [&](std::uint32_t s, std::uint32_t j, std::size_t i) { seen.push_back(s * 1000 + j * 100 + i); });
  EXPECT_EQ(seen, (std::vector<std::size_t>{2, 103, 204, 1010, 1115}));
}

}  // namespace
}  // namespace mgcompare
