#include "measure/comm_wait_split.h"

#include <gtest/gtest.h>

namespace mgcompare {
namespace {

StepBreakdown reading(std::vector<double> exchanges, double exposed) {
  StepBreakdown reading;
  reading.times.exchange = exposed;
  reading.times.compute = 7;
  reading.exchanges = std::move(exchanges);
  return reading;
}

// Two exchanges: rank 0 arrives one second early at the first, rank 1 two seconds early at the second. Each takes one
// second from the arrival of the last rank.
TEST(ExchangeShare, WhatTheLastRankDoesNotNeedIsWaiting) {
  const std::vector<RankTimes> times = split_exchanges({reading({2, 1}, 3), reading({1, 3}, 4)});
  EXPECT_DOUBLE_EQ(times[0].waiting, 1);
  EXPECT_DOUBLE_EQ(times[0].exchange, 2);
  EXPECT_DOUBLE_EQ(times[0].overlapped, 0);
  EXPECT_DOUBLE_EQ(times[1].waiting, 2);
  EXPECT_DOUBLE_EQ(times[1].exchange, 2);
  EXPECT_DOUBLE_EQ(times[1].compute, 7);
}

TEST(ExchangeShare, WhatIsNotExposedRanBesideComputing) {
  const RankTimes times = split_exchanges({reading({1, 1}, 0.5), reading({1, 1}, 0.5)}).front();
  EXPECT_DOUBLE_EQ(times.waiting, 0);
  EXPECT_DOUBLE_EQ(times.exchange, 0.5);
  EXPECT_DOUBLE_EQ(times.overlapped, 1.5);
}

TEST(ExchangeShare, RanksThatCallApartKeepTheirTimes) {
  const std::vector<RankTimes> times = split_exchanges({reading({2, 1}, 3), reading({1}, 1)});
  EXPECT_DOUBLE_EQ(times[0].exchange, 3);
  EXPECT_DOUBLE_EQ(times[0].waiting, 0);
  EXPECT_DOUBLE_EQ(times[1].exchange, 1);
}

}  // namespace
}  // namespace mgcompare
