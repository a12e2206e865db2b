#include "exchange_share.h"

#include <gtest/gtest.h>

namespace mgcompare {
namespace {

// Two exchanges: rank 0 comes a second early to the first, rank 1 two seconds early to the second. Each takes one second
// from the moment when both are there.
TEST(ExchangeShare, WhatTheLastRankDoesNotNeedIsWaiting) {
  const std::vector<ExchangeShare> shares = split_exchanges({{{2, 1}, 3}, {{1, 3}, 4}});
  EXPECT_DOUBLE_EQ(shares[0].waiting, 1);
  EXPECT_DOUBLE_EQ(shares[0].exchange, 2);
  EXPECT_DOUBLE_EQ(shares[0].overlapped, 0);
  EXPECT_DOUBLE_EQ(shares[1].waiting, 2);
  EXPECT_DOUBLE_EQ(shares[1].exchange, 2);
}

TEST(ExchangeShare, WhatIsNotExposedRanBesideComputing) {
  const ExchangeShare share = split_exchanges({{{1, 1}, 0.5}, {{1, 1}, 0.5}}).front();
  EXPECT_DOUBLE_EQ(share.waiting, 0);
  EXPECT_DOUBLE_EQ(share.exchange, 0.5);
  EXPECT_DOUBLE_EQ(share.overlapped, 1.5);
}

}  // namespace
}  // namespace mgcompare
