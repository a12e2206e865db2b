#include "check/other_samples.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "data/order.h"

namespace mgcompare {
namespace {

constexpr std::size_t kSamples = 12, kEpoch = 1;
constexpr std::uint64_t kSeed = 3;

// Of two bytes each.
Split split_of(const std::vector<std::uint8_t>& values, std::vector<std::uint32_t> targets) {
  Split split;
  split.samples = kSamples;
  std::vector<std::uint8_t> bytes;
  for (const std::uint8_t value : values) bytes.insert(bytes.end(), {7, value});
  split.values = SharedBytes(std::move(bytes));
  split.targets = std::move(targets);
  return split;
}

// Only one sample differs from the others: all others get it, and it gets another one.
TEST(OtherSamples, DifferFromTheRanksOwn) {
  for (const bool by_target : {false, true}) {
    std::vector<std::uint8_t> values(kSamples, 1);
    std::vector<std::uint32_t> targets(kSamples, 0);
    if (by_target) targets[5] = 1;
    else values[5] = 2;
    const Split split = split_of(values, targets);
    const std::vector<std::uint32_t> order = epoch_order(kSamples, kSeed, kEpoch);
    for (std::size_t position = 0; position < kSamples; ++position) {
      const auto other = order_with_other(split, kSeed, kEpoch, position);
      ASSERT_TRUE(other);
      EXPECT_NE(other->at(position) == 5, order[position] == 5);
      for (std::size_t i = 0; i < kSamples; ++i) EXPECT_EQ(other->at(i) == order[i], i != position);
    }
  }
}

TEST(OtherSamples, AreNoneAmongEqualOnes) {
  const Split split = split_of(std::vector<std::uint8_t>(kSamples, 1), std::vector<std::uint32_t>(kSamples, 0));
  EXPECT_FALSE(order_with_other(split, kSeed, kEpoch, 4));
}

}  // namespace
}  // namespace mgcompare
