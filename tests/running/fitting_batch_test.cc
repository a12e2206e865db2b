#include "services/fitting_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mgcompare {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Trial trial_of(std::size_t batch) {
  Trial trial;
  trial.strategy.label = "replicated";
  trial.devices = 2;
  trial.global_batch = batch;
  return trial;
}

Result out_of_memory() {
  Result result;
  result.status = TrialStatus::out_of_memory;
  result.cause = "asked 9, free 1, total 10";
  return result;
}

// Batches up to `most` fit.
class Memory {
 public:
  explicit Memory(std::size_t most) : most_(most) {}
  FittingBatch::Attempt attempt() {
    return [this](const Trial& trial) {
      tried.push_back(trial.global_batch);
      return trial.global_batch <= most_ ? TrialStatus::done : TrialStatus::out_of_memory;
    };
  }
  std::vector<std::size_t> tried;

 private:
  std::size_t most_;
};

TEST(FittingBatch, IsFoundByHalving) {
  Memory memory(1000);
  Result result = out_of_memory();
  FittingBatch().add_to(result, trial_of(4096), memory.attempt());
  EXPECT_EQ(result.cause, "asked 9, free 1, total 10; a batch of 960 fits, one of 1024 does not");
  EXPECT_EQ(result.fitting_batch, 960u);
  EXPECT_THAT(memory.tried, ElementsAre(4096, 2048, 1024, 512, 768, 896, 960));
}

TEST(FittingBatch, IsExactForSmallBatches) {
  Memory memory(11);
  Result result = out_of_memory();
  FittingBatch().add_to(result, trial_of(16), memory.attempt());
  EXPECT_THAT(result.cause, HasSubstr("a batch of 11 fits, one of 12 does not"));
}

TEST(FittingBatch, MayNotExist) {
  Memory memory(0);
  Result result = out_of_memory();
  FittingBatch().add_to(result, trial_of(64), memory.attempt());
  EXPECT_THAT(result.cause, HasSubstr("; not even a batch of 1 fits"));
  EXPECT_EQ(result.fitting_batch, 0u);
}

TEST(FittingBatch, IsNotSearchedIfTheFirstStepsOfTheBatchFit) {
  Memory memory(4096);
  Result result = out_of_memory();
  FittingBatch().add_to(result, trial_of(4096), memory.attempt());
  EXPECT_EQ(result.cause, "asked 9, free 1, total 10; its first steps fit");
  EXPECT_EQ(result.fitting_batch, 0u);
  EXPECT_THAT(memory.tried, ElementsAre(4096));
}

TEST(FittingBatch, IsThatOfADeviceInWeakScaling) {
  Memory memory(200);
  Trial trial = trial_of(256);
  trial.scaling = ScalingMode::weak;
  Result result = out_of_memory();
  FittingBatch().add_to(result, trial, memory.attempt());
  EXPECT_THAT(result.cause, HasSubstr("a batch of 100 per device fits, one of 104 does not"));
  for (const std::size_t batch : memory.tried) EXPECT_EQ(batch % 2, 0u);
}

TEST(FittingBatch, IsSearchedOnceForEachRow) {
  Memory memory(1000);
  FittingBatch fitting;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Trial trial = trial_of(1024);
    trial.seed = seed;
    Result result = out_of_memory();
    fitting.add_to(result, trial, memory.attempt());
    EXPECT_GT(result.fitting_batch, 900u);
  }
  EXPECT_LT(memory.tried.size(), 7u);
}

TEST(FittingBatch, IsNotSearchedForOtherTrials) {
  Memory memory(1000);
  Result result;
  FittingBatch().add_to(result, trial_of(4096), memory.attempt());
  EXPECT_TRUE(memory.tried.empty());
  EXPECT_EQ(result.cause, "");
}

TEST(FittingBatch, DoesNotCrash) {
  const auto crashing = [](const Trial& trial) { return trial.global_batch <= 500 ? TrialStatus::done : TrialStatus::crashed; };
  Result result = out_of_memory();
  FittingBatch().add_to(result, trial_of(1024), crashing);
  EXPECT_LE(result.fitting_batch, 500u);
  EXPECT_GT(result.fitting_batch, 400u);
}

TEST(FittingBatch, EndsWithAnAttemptThatEndsOtherwise) {
  std::size_t attempts = 0;
  const auto failing = [&](const Trial&) { return ++attempts == 1 ? TrialStatus::out_of_memory : attempts == 2 ? TrialStatus::done : TrialStatus::timeout; };
  Result result = out_of_memory();
  FittingBatch().add_to(result, trial_of(4096), failing);
  EXPECT_EQ(attempts, 3u);
  EXPECT_THAT(result.cause, HasSubstr("a batch of 2048 fits, one of 4096 does not"));
  const auto interrupted = [](const Trial&) { return TrialStatus::interrupted; };
  result = out_of_memory();
  FittingBatch().add_to(result, trial_of(4096), interrupted);
  EXPECT_THAT(result.cause, Not(HasSubstr("batch")));
}

}  // namespace
}  // namespace mgcompare
