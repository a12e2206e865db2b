#include "plugins/onebit/encode.h"

#include <gtest/gtest.h>

#include <vector>

#include "plugins/onebit/pack_bits.h"
#include "sdk/heap_device.h"

namespace mgcompare::onebit {
namespace {

using mgcompare::testing::HeapDevice;

TEST(Segments, PackBitsBeginsAWordForEachSegment) {
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

TEST(Segments, EncodePacksTheCodesOfASegmentBitByBit) {
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

TEST(Segments, ForEachInMeetsEveryElementWithItsPlace) {
  HeapDevice device;
  const SegmentTable table(device, {{2, 3, 1}, {10, 2, 5}});
  std::vector<std::size_t> seen;
  for_each_in(device, table, [&](std::uint32_t s, std::uint32_t j, std::size_t i) { seen.push_back(s * 1000 + j * 100 + i); });
  EXPECT_EQ(seen, (std::vector<std::size_t>{2, 103, 204, 1010, 1115}));
}

}  // namespace
}  // namespace mgcompare::onebit
