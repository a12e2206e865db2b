// Steps that the device repeats by itself against the same steps by the host.

#include "gpu.h"
#include "training/fixture.h"

namespace mgcompare::testing {
namespace {

struct Recorded {
  const char* name;
  const char* plugin;
  const char* optimizer;
  std::size_t devices;
};

void PrintTo(const Recorded& recorded, std::ostream* out) { *out << recorded.name; }

Trial recorded_trial(const Recorded& recorded) {
  Trial trial = small_trial(1, recorded.plugin);
  trial.device_kind = DeviceKind::cuda;
  trial.devices = recorded.devices;
  trial.config.model = lenet_model();
  trial.config.optimizer.kind = recorded.optimizer;
  trial.config.optimizer.learning_rate = recorded.optimizer == std::string("adam") ? 1e-3 : 0.05;
  if (recorded.optimizer != std::string("sgd")) trial.config.optimizer.momentum = 0;
  // 14 whole steps and one of 30 samples; the end of an epoch is recorded in the second. The rate falls in the third.
  trial.config.epochs = 4;
  trial.config.schedule.kind = "step";
  trial.config.schedule.at = {2.5};
  return trial;
}

TrainingOutcome run_on_gpus(const Trial& trial, bool recorded) {
  return run(trial, {}, [recorded](TrainingRequest& request) {
    request.platform = &platform(DeviceKind::cuda);
    request.numerics.deterministic = true;
    request.audit = !recorded;  // audits look at every step from the host
  });
}

class RecordedSteps : public OnGpu, public ::testing::WithParamInterface<Recorded> {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (gpu_count() < static_cast<int>(GetParam().devices))
      GTEST_SKIP() << "needs " << GetParam().devices << " GPUs, there are " << gpu_count();
  }
};

TEST_P(RecordedSteps, GiveTheBitsOfStepsByTheHost) {
  const Trial trial = recorded_trial(GetParam());
  const TrainingOutcome device = run_on_gpus(trial, true), host = run_on_gpus(trial, false);
  EXPECT_EQ(device.weights, host.weights);
  EXPECT_EQ(device.result.updates, host.result.updates);
  EXPECT_EQ(device.result.steps, host.result.steps);
  EXPECT_EQ(device.result.bytes_per_step, host.result.bytes_per_step);
  ASSERT_EQ(device.result.epochs.size(), host.result.epochs.size());
  for (std::size_t epoch = 0; epoch < host.result.epochs.size(); ++epoch)
    EXPECT_NEAR(device.result.epochs[epoch].loss, host.result.epochs[epoch].loss, 1e-12) << epoch;
}

TEST_P(RecordedSteps, SayWhereTheirTimeGoes) {
  const Result result = run_on_gpus(recorded_trial(GetParam()), true).result;
  for (const RankTimes& times : result.ranks) {
    EXPECT_NEAR(times.compute + times.exchange + times.waiting + times.harness, result.seconds_training,
                0.02 * result.seconds_training + 1e-3);
    EXPECT_GT(times.compute, 0);
    EXPECT_EQ(times.exchange > 0, GetParam().devices > 1 && GetParam().plugin != std::string("independent"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecordedSteps,
                         ::testing::Values(Recorded{"serial", "serial", "sgd", 1},
                                           Recorded{"serial_adam", "serial", "adam", 1},
                                           Recorded{"two", "replicated", "sgd", 2},
                                           Recorded{"two_adam", "replicated", "adam", 2},
                                           Recorded{"two_apart", "independent", "sgd", 2},
                                           Recorded{"four", "replicated", "sgd", 4}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mgcompare::testing
