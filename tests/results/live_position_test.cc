#include "results/live_position.h"

#include <gtest/gtest.h>

#include <cstring>

namespace mgcompare {
namespace {

TEST(LivePosition, IsReadAsItWasSet) {
  LivePosition live;
  EXPECT_EQ(live.get().phase, TrialPhase::none);
  live.set({TrialPhase::training, 999'999, 4'000'000'000});
  EXPECT_EQ(live.get().phase, TrialPhase::training);
  EXPECT_EQ(live.get().epoch, 999'999u);
  EXPECT_EQ(live.get().step, 4'000'000'000u);
}

TEST(LivePosition, AdvancesByStepsOfOneEpoch) {
  LivePosition live;
  live.set({TrialPhase::training, 1, 3});
  for (const Position& other : {Position{TrialPhase::training, 1, 2}, Position{TrialPhase::training, 2, 9}, Position{TrialPhase::training, 0, 9},
                                Position{TrialPhase::evaluation, 1, 9}, Position{TrialPhase::warm_up, 1, 9}}) {
    live.advance(other);
    EXPECT_EQ(text_of(live.get()), "in step 3 of epoch 2 (training)");
  }
  live.advance({TrialPhase::training, 1, 7});
  EXPECT_EQ(live.get().step, 7u);
}

TEST(LivePosition, OfAWarmUpIsItsLastBatch) {
  LivePosition live;
  live.set({TrialPhase::warm_up, 0, 1});
  for (const std::uint64_t batch : {2, 47, 3}) live.advance({TrialPhase::warm_up, 0, batch});
  EXPECT_EQ(text_of(live.get()), "in the warm-up, at batch 3 of an epoch");
}

TEST(LivePosition, OfDamagedMemoryIsNone) {
  LivePosition live;
  std::memset(static_cast<void*>(&live), 0xff, sizeof(live));
  EXPECT_EQ(live.get().phase, TrialPhase::none);
  EXPECT_EQ(live.text(), "before the trial began");
}

TEST(LivePosition, SaysWhatEachRankDoes) {
  LivePosition live;
  live.set({TrialPhase::training, 0, 20});
  EXPECT_EQ(live.text(), "in step 20 of epoch 1 (training)");
  live.activity(0)->set("all_reduce");
  live.activity(1)->set("own code");
  live.activity(63)->set("all_reduce");
  EXPECT_EQ(live.activity(64), nullptr);
  EXPECT_EQ(live.text(), "in step 20 of epoch 1 (training), ranks 0 63 in all_reduce(), rank 1 in own code");
  live.activity(1)->set("a_name_of_more_than_sixteen_letters");
  EXPECT_EQ(live.activity(1)->get(), "a_name_of_more_");
  for (const std::size_t rank : {0, 1, 63}) live.activity(rank)->set(nullptr);
  EXPECT_EQ(live.text(), "in step 20 of epoch 1 (training)");
}

TEST(LivePosition, NamesTheCallOutsideOfStepsWithoutRanks) {
  LivePosition live;
  live.set({TrialPhase::evaluation, 0, 0});
  EXPECT_EQ(live.text_with_call(), "in evaluation of epoch 1");
  live.activity(0)->set("all_reduce");
  live.activity(1)->set("settle");
  live.activity(2)->set("settle");
  EXPECT_EQ(live.text_with_call(), "in evaluation of epoch 1, in settle()");
  live.activity(1)->set("own code");
  live.activity(2)->set(nullptr);
  EXPECT_EQ(live.text_with_call(), "in evaluation of epoch 1");
}

TEST(LivePosition, IsASentence) {
  EXPECT_EQ(text_of(Position{}), "before the trial began");
  EXPECT_EQ(text_of({TrialPhase::setup, 0, 0}), "in setup");
  EXPECT_EQ(text_of({TrialPhase::warm_up, 0, 0}), "in warm-up");
  EXPECT_EQ(text_of({TrialPhase::warm_up, 0, 4}), "in the warm-up, at batch 4 of an epoch");
  EXPECT_EQ(text_of({TrialPhase::training, 1, 0}), "in epoch 2 (training)");
  EXPECT_EQ(text_of({TrialPhase::training, 0, 20}), "in step 20 of epoch 1 (training)");
  EXPECT_EQ(text_of({TrialPhase::evaluation, 2, 0}), "in evaluation of epoch 3");
  EXPECT_EQ(text_of({TrialPhase::teardown, 2, 0}), "in teardown");
}

}  // namespace
}  // namespace mgcompare
