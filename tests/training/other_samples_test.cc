#include "check/other_samples.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "data/order.h"

namespace mgcompare {
namespace {

constexpr std::size_t kSamples = 12, kBatch = 4, kRanks = 4;
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

Batch batch_at(std::size_t begin, const Shape& shape) { return Batch({1, begin / kBatch, begin, kBatch, 0, 1, 0.1}, shape); }

std::size_t sample_at(const Batch& share) { return epoch_order(kSamples, kSeed, 1)[share.begin()]; }

// Only one sample differs from the others: whoever is altered gets it, and its own rank another one.
TEST(OtherSamples, DifferFromTheRanksOwn) {
  const Shape shape = {2};
  for (const bool by_target : {false, true}) {
    std::vector<std::uint8_t> values(kSamples, 1);
    std::vector<std::uint32_t> targets(kSamples, 0);
    if (by_target) targets[5] = 1;
    else values[5] = 2;
    const Split split = split_of(values, targets);
    const OtherSamples others(split, kSeed);
    const std::vector<std::uint32_t> order = epoch_order(kSamples, kSeed, 1);
    const std::size_t place = static_cast<std::size_t>(std::find(order.begin(), order.end(), 5u) - order.begin());
    for (std::size_t begin = 0; begin < kSamples; begin += kBatch)
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        const Batch batch = batch_at(begin, shape);
        const auto other = others.in_place_of(batch, rank, kRanks);
        // Other batches must have sample 5 in the rank's share, or this one has it.
        ASSERT_EQ(other.has_value(), rank <= place && place - rank <= kSamples - kBatch);
        if (!other) continue;
        EXPECT_EQ(other->epoch(), batch.epoch());
        EXPECT_EQ(other->step(), batch.step());
        EXPECT_EQ(other->global_size(), batch.global_size());
        EXPECT_EQ(other->size(), 1u);
        EXPECT_NE(sample_at(*other) == 5, sample_at(batch.part(rank, kRanks)) == 5);
      }
  }
}

TEST(OtherSamples, AreNoneAmongEqualOnesOrInAnEmptyShare) {
  const Shape shape = {2};
  const Split split = split_of(std::vector<std::uint8_t>(kSamples, 1), std::vector<std::uint32_t>(kSamples, 0));
  EXPECT_FALSE(OtherSamples(split, kSeed).in_place_of(batch_at(4, shape), 1, kRanks));
  EXPECT_FALSE(OtherSamples(split, kSeed).in_place_of(batch_at(4, shape), 5, 2 * kRanks)) << "more ranks than samples";
}

}  // namespace
}  // namespace mgcompare
