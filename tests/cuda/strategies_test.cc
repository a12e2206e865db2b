// Every strategy on GPUs: several ranks on one GPU, and one rank per GPU where there are several. Properties of a
// single strategy are tested in tests/strategies; here are those that depend on the device.

#include <unistd.h>

#include <cstdio>

#include "gpu.h"
#include "modules/platform_host.h"
#include "strategies/rows.h"
#include "modules/strategy_options.h"

namespace mgcompare::testing {
namespace {

struct StrategyPlacement {
  std::size_t ranks;
  bool apart;
};

// With all steps issued by the host (`steps` of them), or as in a comparison, with CUDA graphs.
TrainingOutcome run_on_gpu(Trial trial, const StrategyPlacement& placement, std::size_t steps = 0, const Leave& leave = {}) {
  trial.device_kind = DeviceKind::cuda;
  trial.devices = placement.apart ? placement.ranks : 1;
  trial.ranks_per_device = placement.apart ? 1 : placement.ranks;
  return run(trial, {}, [&](TrainingRequest& request) {
    request.platform = &platform(DeviceKind::cuda);
    request.numerics.deterministic = true;
    request.most_steps = steps;
    request.evaluate = false;
    request.leave = leave;
  });
}

Traits traits_on_gpu(Trial trial) {
  trial.device_kind = DeviceKind::cuda;
  StrategyOptions options(trial.strategy.options);
  return make_strategy(trial.plugin_file, options, facts_of(trial, trial.config, small_digits().train.samples))->traits();
}

bool fits(const Traits& traits, std::size_t ranks) {
  return static_cast<int>(ranks) >= traits.least_ranks && static_cast<int>(ranks) <= traits.most_ranks;
}

void use(OptimizerConfig& optimizer, const std::string& kind) {
  optimizer.kind = kind == "momentum" ? OptimizerKind::sgd : kind_named<OptimizerKind>(kind);
  optimizer.momentum = kind == "momentum" ? 0.9 : 0;
  optimizer.learning_rate = kind == "adam" ? 1e-3 : 0.05;
}

class StrategiesOnGpu : public OnGpu, public ::testing::WithParamInterface<StrategyConfig> {
 protected:
  // Several ranks on one GPU, or one rank per GPU as far as the GPUs suffice.
  std::vector<StrategyPlacement> placements(const std::vector<std::size_t>& wanted) const {
    std::vector<StrategyPlacement> all;
    for (const std::size_t ranks : wanted) {
      if (!fits(traits_on_gpu(trial_of(GetParam(), ranks)), ranks)) continue;
      all.push_back({ranks, false});
      if (ranks > 1 && gpu_count() >= static_cast<int>(ranks)) all.push_back({ranks, true});
    }
    return all;
  }
};

TEST_P(StrategiesOnGpu, AloneItIsSerialTraining) {
  const Trial alone = trial_of(GetParam(), 1);
  if (traits_on_gpu(alone).promise != Traits::Promise::exact && !GetParam().options.empty()) GTEST_SKIP() << "its options change the rule";
  const StrategyPlacement one{1, false};
  EXPECT_LT(largest_difference(run_on_gpu(alone, one).weights[0], run_on_gpu(small_trial(1, "serial"), one).weights[0]), 1e-5);
}

TEST_P(StrategiesOnGpu, ExactOnesEqualOneDevice) {
  for (const StrategyPlacement& placement : placements({2, 3, 4})) {
    if (traits_on_gpu(trial_of(GetParam(), placement.ranks)).promise != Traits::Promise::exact) continue;
    const auto weights = [&](Trial trial, const std::string& optimizer, const StrategyPlacement& where) {
      use(trial.config.optimizer, optimizer);
      return run_on_gpu(trial, where).weights[0];
    };
    const Trial own = trial_of(GetParam(), placement.ranks);
    const std::string place = std::to_string(placement.ranks) + (placement.apart ? " apart" : " together");
    EXPECT_LT(largest_difference(weights(own, "sgd", placement), weights(small_trial(1, "serial"), "sgd", {1, false})), 1e-5) << place;
    // The libraries choose other algorithms for smaller shares, and momentum and Adam propagate the differences. So the
    // reference accumulates the same shares.
    const Trial replicated = small_trial(placement.ranks, "replicated");
    EXPECT_LT(largest_difference(weights(own, "momentum", placement), weights(replicated, "momentum", placement)), 1e-5) << place;
    if (traits_on_gpu([&] { Trial adam = own; use(adam.config.optimizer, "adam"); return adam; }()).promise == Traits::Promise::exact) {
      EXPECT_LT(largest_difference(weights(own, "adam", placement), weights(replicated, "adam", placement)), 1e-4) << place;
    }
  }
}

// Whole periods replayed as CUDA graphs against steps issued by the host: 4 epochs of 15 steps, the last step of each
// epoch with a smaller batch.
TEST_P(StrategiesOnGpu, RepeatedStepsDoWhatTheHostsStepsDo) {
  for (const StrategyPlacement& placement : placements({1, 2, 4}))
    for (const std::string optimizer : {"momentum", "adam"}) {
      Trial trial = trial_of(GetParam(), placement.ranks);
      const Traits traits = traits_on_gpu(trial);
      if (traits.repeats_every == 0 || (placement.ranks > 1 && !placement.apart)) continue;  // no graphs
      use(trial.config.optimizer, optimizer);
      trial.config.epochs = 4;
      const TrainingOutcome repeated = run_on_gpu(trial, placement), stepped = run_on_gpu(trial, placement, 60);
      EXPECT_EQ(repeated.weights, stepped.weights) << placement.ranks << " " << optimizer << ": the same work, the same bits";
      EXPECT_EQ(repeated.result.updates, stepped.result.updates) << placement.ranks << " " << optimizer;
      EXPECT_EQ(repeated.result.samples, stepped.result.samples);
      EXPECT_NEAR(repeated.result.bytes_per_step, stepped.result.bytes_per_step, 1);
      if (traits.models == Traits::Models::one) {
        for (const std::vector<float>& weights : repeated.weights) EXPECT_EQ(weights, repeated.weights[0]) << "all ranks settle alike";
      }
      for (const auto& [name, metric] : stepped.result.metrics[0])
        EXPECT_NEAR(repeated.result.metrics[0].at(name).last, metric.last, 1e-3 * (1e-3 + std::abs(metric.last))) << name;
    }
}

TEST_P(StrategiesOnGpu, LockstepOnesLearnAsOnTheCpuTwin) {
  for (const StrategyPlacement& placement : placements({3})) {
    Trial trial = trial_of(GetParam(), placement.ranks);
    if (traits_on_gpu(trial).pace == Traits::Pace::free) continue;
    use(trial.config.optimizer, "sgd");
    const double ours = run_on_gpu(trial, placement).result.epochs.back().loss, theirs = run(trial).result.epochs.back().loss;
    EXPECT_NEAR(ours, theirs, 0.02 * theirs);
  }
}

Trial sabotaged(const StrategyConfig& row, std::size_t ranks, const char* after) {
  Trial trial = trial_of(row, ranks);
  trial.config.measure.warm_up_steps = 0;
  trial.config.deterministic = false;  // there is no virtual time without locks
  trial.plugin_file = std::string(MGCOMPARE_BINARY_DIR) + "/lib/mgcompare/bad_plugins/strategy_saboteur.so";
  trial.strategy.options.push_back(option("inner", row.name));
  trial.strategy.options.push_back(option("after", after));
  return trial;
}

TEST_P(StrategiesOnGpu, ARankThatFailsInAnExchangeFailsTheTrial) {
  if (!fits(traits_on_gpu(trial_of(GetParam(), 2)), 2)) return;
  for (const char* after : {"0", "1", "2"}) {
    try {
      run_on_gpu(sabotaged(GetParam(), 2, after), {2, false}, 10);
      ADD_FAILURE() << "nothing failed after " << after << " calls";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "the planted error") << after;
    }
  }
}

[[noreturn]] void end_with(const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const Error& error) {
    std::fputs(error.what(), stderr);
  }
  _exit(7);
}

// Kernels on several GPUs that wait for each other through windows end only with their process.
using StrategiesOnGpuDeathTest = StrategiesOnGpu;
TEST_P(StrategiesOnGpuDeathTest, ARankThatFailsBetweenGpusEndsTheProcessWithItsError) {
  if (!fits(traits_on_gpu(trial_of(GetParam(), 2)), 2)) return;
  if (gpu_count() < 2) GTEST_SKIP() << "needs two GPUs, this machine has " << gpu_count();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto fail = [] {
    try {
      run_on_gpu(sabotaged(GetParam(), 2, "1"), {2, true}, 10, end_with);
    } catch (...) {
      end_with(std::current_exception());
    }
  };
  EXPECT_EXIT(fail(), ::testing::ExitedWithCode(7), "the planted error");
}

INSTANTIATE_TEST_SUITE_P(All, StrategiesOnGpuDeathTest, ::testing::ValuesIn(every_row()), name_of);
INSTANTIATE_TEST_SUITE_P(All, StrategiesOnGpu, ::testing::ValuesIn(every_row()), name_of);

// Only rounding differs, as no decision depends on a sign or an order of magnitudes.
TEST_F(OnGpu, AveragedCopiesFollowTheCpuTwin) {
  for (const StrategyConfig& row : every_row()) {
    if (row.name != "local_sgd" && row.name != "bmuf" && row.name != "tower" && row.name != "replicated") continue;
    Trial trial = trial_of(row, 3);
    use(trial.config.optimizer, "sgd");
    for (const bool apart : {false, true}) {
      if (apart && gpu_count() < 3) continue;
      EXPECT_LT(largest_difference(run_on_gpu(trial, {3, apart}).weights[0], run(trial).weights[0]), 1e-4) << row.label;
    }
  }
}

// Statistics of the whole batch, also if the loss of each share is scaled by the share's own size.
TEST_F(OnGpu, BatchNormalisationOverAllRanksKeepsStrategiesExact) {
  const auto weights = [](const StrategyConfig& row, const StrategyPlacement& placement) {
    Trial trial = trial_of(row, placement.ranks);
    trial.config.model = normalised_model();
    trial.config.batch_norm = BatchNormPolicy::sync;
    use(trial.config.optimizer, "sgd");
    return run_on_gpu(trial, placement).weights[0];
  };
  const std::vector<float> plain = weights({"serial", "serial", {}, {}}, {1, false});
  const std::vector<StrategyConfig> rows = {{"replicated", "replicated", {}, {}},
                                            {"data_parallel", "data_parallel", {}, {}},
                                            {"sharded_server", "sharded_server", {}, {}},
                                            {"tower", "tower of parameters", {option("average", "parameters")}, {}},
                                            {"local_sgd", "local_sgd every 1", {option("every", "1")}, {}}};
  for (const StrategyConfig& row : rows)
    for (const bool apart : {false, true}) {
      if (apart && gpu_count() < 3) continue;
      EXPECT_LT(largest_difference(weights(row, {3, apart}), plain), 1e-4) << row.label << (apart ? " apart" : " together");
    }
}

// Block filtering with one rank: a whole block is captured in one graph, including Adam's step number.
TEST_F(OnGpu, BlocksOfOneRankAreRepeatedLikeSteps) {
  for (const char* variant : {"cbm", "nbm", "nbm_cntk"}) {
    Trial trial = small_trial(1, "bmuf", {option("variant", variant), option("eta", "0.5"), option("period", "4")});
    use(trial.config.optimizer, "adam");
    trial.config.epochs = 4;
    const TrainingOutcome repeated = run_on_gpu(trial, {1, false}), stepped = run_on_gpu(trial, {1, false}, 60);
    EXPECT_EQ(repeated.weights, stepped.weights) << variant;
    EXPECT_LT(largest_difference(repeated.weights[0], run(trial).weights[0]), 1e-3) << variant;
    EXPECT_EQ(repeated.result.updates, 60u);
  }
}

}  // namespace
}  // namespace mgcompare::testing
