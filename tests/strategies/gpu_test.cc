// The free-running strategies on the available GPUs, with the checks that the CPU back end has to pass.

#include "free_running.h"

namespace mgcompare {
namespace {

using namespace testing;

struct Case {
  std::string plugin;
  OptionValues settings;
};

const std::vector<Case> kCases = {
    {"async_sgd", {}},
    {"async_sgd", {{"lock", "global"}, {"momentum", "server"}}},
    {"async_sgd", {{"momentum", "worker"}, {"push_every", "2"}}},
    {"async_sgd", {{"rule", "softsync"}, {"staleness", "none"}}},
    {"async_sgd", {{"staleness", "bounded"}, {"bound", "0"}}},
    {"async_sgd", {{"server", "device"}}},
    {"async_sgd", {{"server", "device"}, {"momentum", "server"}, {"lock", "striped"}, {"stripes", "3"}}},
    {"async_sgd", {{"server", "device"}, {"rule", "softsync"}, {"staleness", "none"}}},
    {"async_sgd", {{"rule", "hogwild"}, {"lock", "global"}}},
    {"async_sgd", {{"rule", "hogwild"}, {"lock", "striped"}, {"server", "device"}}},
    {"easgd", {{"every", "2"}}},
    {"easgd", {{"pace", "lockstep"}, {"every", "2"}}},
};

std::string text_of(const Case& each) { return each.plugin + " " + testing::text_of(each.settings); }

class FreeRunningOnGpus : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      gpus_ = platform(DeviceKind::cuda).devices().size();
    } catch (const Error& error) {
      GTEST_SKIP() << "no GPU to test on: " << error.what();
    }
    if (gpus_ == 0) GTEST_SKIP() << "no GPU to test on";
  }

  // One rank on each of up to four GPUs, or two ranks on a single one.
  Trial trial_of(const Case& each) const {
    Trial trial = free_trial(1, each.plugin, each.settings);
    trial.device_kind = DeviceKind::cuda;
    trial.devices = std::min<std::size_t>(gpus_, 4);
    trial.ranks_per_device = gpus_ == 1 ? 2 : 1;
    trial.config.model = lenet_model();
    trial.config.measure.warm_up_steps = 2;
    return trial;
  }

  static TrainingOutcome run_there(const Trial& trial, const std::function<void(TrainingRequest&)>& tune = {}) {
    return run(trial, {}, [&](TrainingRequest& request) {
      request.platform = &platform(DeviceKind::cuda);
      request.numerics.deterministic = true;
      if (tune) tune(request);
    });
  }

  std::size_t gpus_ = 0;
};

TEST_F(FreeRunningOnGpus, VirtualTimeGivesTheSameBits) {
  for (const Case& each : kCases) EXPECT_EQ(run_there(trial_of(each)).weights, run_there(trial_of(each)).weights) << text_of(each);
}

TEST_F(FreeRunningOnGpus, ReplaysFreeRunsToTheBit) {
  for (const Case& each : kCases) {
    Trial trial = trial_of(each);
    trial.config.deterministic = false;
    const TrainingOutcome live = run_there(trial, [](TrainingRequest& request) { request.record = true; });
    if (live.record.epochs.empty()) continue;  // lockstep
    const TrainingOutcome again = run_there(trial, [&](TrainingRequest& request) { request.replay = &live.record; });
    EXPECT_EQ(again.weights, live.weights) << text_of(each);
  }
}

TEST_F(FreeRunningOnGpus, AppliesWhatIsPushedAndSeesEachSampleOnce) {
  for (const Case& each : kCases) {
    Trial trial = trial_of(each);
    trial.config.deterministic = false;
    const TrainingOutcome outcome = run_there(trial, [](TrainingRequest& request) { request.audit = true; });
    // An update of softsync applies the mean of several gradients.
    if (!says(each.settings, "lockstep") && !says(each.settings, "softsync")) expect_all_applied(outcome, text_of(each));
    expect_each_sample_once(outcome, text_of(each));
    for (const auto& weights : outcome.weights) EXPECT_EQ(weights, outcome.weights[0]) << text_of(each);
  }
}

TEST_F(FreeRunningOnGpus, HogwildWithoutLocksLosesNothing) {
  for (const char* server : {"host", "device"}) {
    Trial trial = trial_of({"async_sgd", {{"rule", "hogwild"}, {"server", server}}});
    trial.config.deterministic = false;
    const TrainingOutcome outcome = run_there(trial, [](TrainingRequest& request) { request.audit = true; });
    expect_all_applied(outcome, server);
    for (const auto& metrics : outcome.result.metrics) EXPECT_TRUE(metrics.contains("torn pulls")) << server;
  }
}

TEST_F(FreeRunningOnGpus, AServerOnADeviceComputesWhatOneOnTheHostDoes) {
  const TrainingOutcome host = run_there(trial_of({"async_sgd", {{"lock", "global"}}}));
  const TrainingOutcome device = run_there(trial_of({"async_sgd", {{"server", "device"}}}));
  EXPECT_LT(largest_difference(host.weights[0], device.weights[0]), 1e-3);
}

TEST_F(FreeRunningOnGpus, CompensatesDelaysOnADeviceAsOnTheHost) {
  for (const char* compensation : {"constant", "adaptive"}) {
    const OptionValues settings = {{"lock", "global"}, {"delay_compensation", "0.04"}, {"compensation", compensation}};
    const TrainingOutcome host = run_there(trial_of({"async_sgd", settings}));
    const TrainingOutcome device = run_there(trial_of({"async_sgd", with(settings, {"server", "device"})}));
    EXPECT_LT(largest_difference(host.weights[0], device.weights[0]), 1e-3) << compensation;
  }
}

}  // namespace
}  // namespace mgcompare
