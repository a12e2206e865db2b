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

TEST(OtherSamples, TakeThePlacesOfSamples) {
  std::vector<std::uint8_t> values(kSamples);
  std::vector<std::uint32_t> targets(kSamples);
  for (std::size_t i = 0; i < kSamples; ++i) values[i] = static_cast<std::uint8_t>(i), targets[i] = static_cast<std::uint32_t>(i);
  const Split split = split_of(values, targets);
  const std::vector<std::uint32_t> order = epoch_order(kSamples, kSeed, kEpoch);
  const std::optional<Split> changed = with_others(split, kSeed, kEpoch, {2, 5});
  ASSERT_TRUE(changed);
  for (std::size_t position = 0; position < kSamples; ++position) {
    const std::uint32_t id = order[position];
    EXPECT_EQ(changed->targets[id] != id, 2 <= position && position < 5);
    EXPECT_EQ(changed->values[2 * id + 1], changed->targets[id]);
  }
}

TEST(OtherSamples, LieInBothHalvesOfTwoSteps) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<Range> places = places_of_epoch(71, 16, seed);
    ASSERT_EQ(places.size(), 4u);
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_EQ(places[k].size(), 4u);
      EXPECT_EQ(places[k].begin / 16, places[0].begin / 16 + k / 2);
      EXPECT_EQ(places[k].begin / 16, (places[k].end - 1) / 16);
      EXPECT_EQ(places[k].begin % 16 / 8, k % 2);
      EXPECT_LE(places[k].end, 48u) << "two steps follow";
    }
  }
  EXPECT_TRUE(places_of_epoch(30, 10, 1).empty());
  EXPECT_EQ(places_of_epoch(5, 1, 1).size(), 4u);
}

TEST(OtherSamples, AreNoneAmongEqualOnes) {
  const Split split = split_of(std::vector<std::uint8_t>(kSamples, 1), std::vector<std::uint32_t>(kSamples, 0));
  EXPECT_FALSE(order_with_other(split, kSeed, kEpoch, 4));
}

}  // namespace
}  // namespace mgcompare
