#include "data/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace mgcompare {
namespace {

TEST(Order, HoldsEverySampleOnce) {
  for (const std::size_t samples : {0u, 1u, 2u, 7u, 1000u}) {
    std::vector<std::uint32_t> order = epoch_order(samples, 1, 0);
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order.size(), samples);
    for (std::size_t i = 0; i < samples; ++i) EXPECT_EQ(order[i], i);
  }
}

TEST(Order, IsAFunctionOfSeedAndEpoch) {
  EXPECT_EQ(epoch_order(1000, 5, 3), epoch_order(1000, 5, 3));
  EXPECT_NE(epoch_order(1000, 5, 3), epoch_order(1000, 5, 4));
  EXPECT_NE(epoch_order(1000, 5, 3), epoch_order(1000, 6, 3));
}

TEST(Order, IsUniform) {
  // All 24 orders of four samples, each expected 1000 times in 24,000 trials: five standard deviations are 155.
  std::array<int, 256> count{};
  for (std::uint64_t seed = 0; seed < 24'000; ++seed) {
    const std::vector<std::uint32_t> o = epoch_order(4, seed, 0);
    ++count[o[0] * 64 + o[1] * 16 + o[2] * 4 + o[3]];
  }
  EXPECT_EQ(std::count(count.begin(), count.end(), 0), 256 - 24);
  for (const int seen : count) {
    if (seen == 0) continue;
    EXPECT_NEAR(seen, 1000, 155);
  }
}

}  // namespace
}  // namespace mgcompare
