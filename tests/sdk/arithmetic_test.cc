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

}  // namespace
}  // namespace mgcompare
