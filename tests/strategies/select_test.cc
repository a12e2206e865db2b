#include "plugins/top_k/select.h"

#include <gtest/gtest.h>

#include <vector>

#include "sdk/heap_device.h"

namespace mgcompare::top_k {
namespace {

using mgcompare::testing::HeapDevice;

TEST(Selection, SelectKeepsOrderAndCountsBeyondItsRoom) {
  HeapDevice device;
  const Array<std::uint32_t> indices = device_array<std::uint32_t>(device, 3), count = device_array<std::uint32_t>(device, 1);
  const Array<std::uint64_t> scratch = device_array<std::uint64_t>(device, selection_scratch(20));
  select(device, 20, [](std::size_t i) { return i % 4 == 1; }, indices.span(), count.span(), scratch.span());
  EXPECT_EQ(count[0], 5u);
  EXPECT_EQ(indices[0], 1u);
  EXPECT_EQ(indices[1], 5u);
  EXPECT_EQ(indices[2], 9u);
}

struct Keys {
  const std::uint32_t* keys;
  std::uint32_t operator()(std::size_t i) const { return keys[i]; }
};

TEST(Selection, SelectLargestTakesTheFirstOfEqualKeys) {
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

}  // namespace
}  // namespace mgcompare::top_k
