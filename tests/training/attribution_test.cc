#include "measure/step_breakdown.h"

#include <gtest/gtest.h>

namespace mgcompare {
namespace {

using Layers = std::vector<std::vector<Stretch>>;
using Seconds = std::vector<double>;

TEST(Attribution, CountsEveryMomentForTheFirstLayerThatCoversIt) {
  EXPECT_EQ(seconds_by_layer({{{1, 3}}, {{0, 5}}}, 0, 10), (Seconds{2, 3}));
  EXPECT_EQ(seconds_by_layer({{{0, 5}}, {{1, 3}}}, 0, 10), (Seconds{5, 0})) << "nested in the layer above";
  EXPECT_EQ(seconds_by_layer({{{1, 4}, {3, 6}}}, 0, 10), (Seconds{5})) << "overlapping: their union";
  EXPECT_EQ(seconds_by_layer({{{1, 6}, {2, 3}, {2, 3}}}, 0, 10), (Seconds{5})) << "nested and twice: their union";
  EXPECT_EQ(seconds_by_layer({{{1, 2}, {2, 3}}}, 0, 10), (Seconds{2})) << "touching";
  EXPECT_EQ(seconds_by_layer({{{2, 2}, {5, 4}}, {{1, 3}}}, 0, 10), (Seconds{0, 2})) << "empty and reversed ones";
  EXPECT_EQ(seconds_by_layer({{{-5, 1}, {9, 20}}}, 0, 10), (Seconds{2})) << "beyond the bounds";
  EXPECT_EQ(seconds_by_layer({{}, {}}, 0, 10), (Seconds{0, 0}));
  EXPECT_EQ(seconds_by_layer({}, 0, 10), Seconds{});
}

constexpr bool kBeside = true;

TEST(Attribution, ExchangeBesideComputingIsHidden) {
  using enum Phase;
  const StepBreakdown reading = break_down({{compute, false, 1},
                                         {exchange, kBeside, 3},
                                         {outside, kBeside, 8},
                                         {transfer, false, 6},  // the device waits for the exchange
                                         {optimizer, false, 8},
                                         {outside, false, 9},
                                         {outside, false, 10}},
                                        0);
  EXPECT_EQ(reading.times.compute, 5);
  EXPECT_EQ(reading.times.exchange, 2);
  EXPECT_EQ(reading.times.optimizer, 1);
  EXPECT_EQ(reading.times.harness, 1);
  EXPECT_EQ(reading.times.sum(), 9);
  EXPECT_EQ(reading.exchanges, (std::vector<double>{5}));
}

TEST(Attribution, TakesOffWhatMarksCost) {
  using enum Phase;
  const StepBreakdown reading = break_down(
      {{compute, false, 0}, {input, false, 1}, {input, false, 1.25}, {exchange, false, 3}, {outside, false, 5}}, 0.25);
  EXPECT_EQ(reading.times.compute, 0.75);
  EXPECT_EQ(reading.times.input, 1.5) << "a stretch that is nothing but its mark is no time";
  EXPECT_EQ(reading.times.exchange, 1.75);
  EXPECT_EQ(reading.exchanges, (std::vector<double>{1.75}));
}

TEST(Attribution, OfNoMarksIsNothing) {
  EXPECT_EQ(break_down({}, 1).times.sum(), 0);
  EXPECT_EQ(break_down({{Phase::compute, false, 1}}, 0).times.sum(), 0);
}

// The host queues a pass and a copy, sleeps until they are done, and sums. The device's clock is 100 s behind.
TEST(Attribution, WhatTheDeviceDoesComesBeforeWhereTheHostIs) {
  using enum Phase;
  const std::vector<StepClock::Span> host = {{strategy, nullptr, 100, 101}, {compute, nullptr, 101, 102},
                                             {transfer, nullptr, 102, 102.5}, {strategy, nullptr, 102.5, 108},
                                             {waiting, nullptr, 108, 109},   {outside, nullptr, 109, 110}};
  const StepBreakdown reading = break_down({{strategy, false, 0},
                                         {compute, false, 1.5},
                                         {transfer, false, 5},
                                         {strategy, false, 6},
                                         {waiting, false, 8},
                                         {outside, false, 9}},
                                        0, host, 100);
  EXPECT_EQ(reading.times.compute, 4) << "half a second of asking, and the pass";
  EXPECT_EQ(reading.times.exchange, 1);
  EXPECT_EQ(reading.times.strategy, 3);
  EXPECT_EQ(reading.times.waiting, 1);
  EXPECT_EQ(reading.times.harness, 1);
  EXPECT_EQ(reading.times.sum(), 10);
}

TEST(Attribution, WhatTheHostSpentOnMarksIsInNoPart) {
  using enum Phase;
  const std::vector<StepClock::Span> host = {{compute, nullptr, 0, 1}, {strategy, nullptr, 1.5, 3}};
  const StepBreakdown reading = break_down({{compute, false, 0}, {strategy, false, 1}}, 0, host, 0);
  EXPECT_EQ(reading.times.sum(), 2.5);
}

}  // namespace
}  // namespace mgcompare
