// Steps replayed as CUDA graphs against the same steps issued by the host.

#include "base/clock.h"
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
  trial.config.optimizer.kind = kind_named<OptimizerKind>(recorded.optimizer);
  trial.config.optimizer.learning_rate = recorded.optimizer == std::string("adam") ? 1e-3 : 0.05;
  if (recorded.optimizer != std::string("sgd")) trial.config.optimizer.momentum = 0;
  // 14 full steps and one of 30 samples. The short step is captured in the second epoch. The learning rate drops in the
  // third.
  trial.config.epochs = 4;
  trial.config.schedule.kind = ScheduleKind::step;
  trial.config.schedule.at = {2.5};
  return trial;
}

TrainingOutcome run_on_gpus(const Trial& trial, bool recorded) {
  return run(trial, {}, [recorded](TrainingRequest& request) {
    request.platform = &platform(DeviceKind::cuda);
    request.numerics.deterministic = true;
    request.audit = !recorded;  // an audit needs every step issued by the host
  });
}

class GraphSteps : public OnGpu, public ::testing::WithParamInterface<Recorded> {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (gpu_count() < static_cast<int>(GetParam().devices))
      GTEST_SKIP() << "needs " << GetParam().devices << " GPUs, there are " << gpu_count();
  }
};

TEST_P(GraphSteps, GiveTheBitsOfStepsByTheHost) {
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

// Batches that a second stream fetches from the host.
TEST_P(GraphSteps, GiveTheSameBitsWithSamplesOnTheHost) {
  Trial trial = recorded_trial(GetParam());
  trial.config.data.prepare.crop_padding = 2;
  const TrainingOutcome on_device = run_on_gpus(trial, true);
  trial.config.data.on = DataLocation::host;
  const TrainingOutcome on_host = run_on_gpus(trial, true);
  EXPECT_EQ(on_host.weights, on_device.weights);
  EXPECT_EQ(on_host.result.accuracy, on_device.result.accuracy);
  EXPECT_EQ(run_on_gpus(trial, false).weights, on_device.weights);
}

// A bound on correctness, not on speed: the breakdown comes from other steps than the training time.
constexpr double kLikeThePlainSteps = 0.10;

TEST_P(GraphSteps, SayWhereTheirTimeGoes) {
  const bool exchanges = GetParam().devices > 1 && GetParam().plugin != std::string("independent");
  const Result result = run_on_gpus(recorded_trial(GetParam()), true).result;
  for (const RankTimes& times : result.ranks) {
    EXPECT_GT(times.compute, 0);
    EXPECT_GT(times.optimizer, 0);
    EXPECT_GT(times.input, 0);
    EXPECT_GT(times.compute, times.input);
    if (exchanges) { EXPECT_GT(times.exchange + times.overlapped, 0); }
    // The parts of the measured steps against the training clock. The time outside of steps is the same in both.
    EXPECT_NEAR(times.sum(), result.seconds_training, kLikeThePlainSteps * result.seconds_training);
  }
}

// Steps issued by the host: the pass counts as compute, whatever the host does meanwhile.
class SteppedByTheHost : public OnGpu, public ::testing::WithParamInterface<const char*> {};

TEST_P(SteppedByTheHost, SayWhereTheirTimeGoes) {
  Trial trial = recorded_trial({"", GetParam(), "sgd", 1});
  trial.config.deterministic = false;
  const Result result = run(trial, {}, [](TrainingRequest& request) { request.platform = &platform(DeviceKind::cuda); }).result;
  const RankTimes& times = result.ranks[0];
  EXPECT_GT(times.optimizer, 0);
  EXPECT_GT(times.exchange, 0);
  EXPECT_GT(times.compute, times.exchange) << "a copy waits for the pass, and is not as long";
  // With a hundred timestamps per step, one for each stripe of the model, the measured steps take half as long again.
  // Reports mark such rows as unreliable.
  if (GetParam() == std::string("async_sgd")) return;
  EXPECT_NEAR(times.sum(), result.seconds_training, kLikeThePlainSteps * result.seconds_training);
}

INSTANTIATE_TEST_SUITE_P(All, SteppedByTheHost, ::testing::Values("tower", "async_sgd"),
                         [](const auto& info) { return std::string(info.param); });

// The cost of a timestamp, and timestamps in order.
TEST_F(OnGpu, ATimelineReadsWhatIsQueued) {
  Platform& cuda = platform(DeviceKind::cuda);
  const std::unique_ptr<Device> device = cuda.open(0);
  const std::unique_ptr<DeviceTimeline> timeline = cuda.timeline(*device);
  EXPECT_GT(timeline->seconds_a_mark(), 1e-7);
  EXPECT_LT(timeline->seconds_a_mark(), 1e-4);
  const Array<float> memory(*device, 1 << 24);
  const double ahead = timeline->ahead(), begin = now();
  timeline->open(false);
  timeline->mark(Phase::transfer);
  for (int k = 0; k < 10; ++k) device->zero(memory.data(), memory.span().bytes());
  timeline->mark(Phase::compute);
  timeline->mark(Phase::outside);
  timeline->close();
  const std::vector<std::vector<PhaseEvent>> rounds = timeline->take();
  ASSERT_EQ(rounds.size(), 1u);
  ASSERT_EQ(rounds[0].size(), 3u);
  EXPECT_EQ(rounds[0][0].phase, Phase::transfer);
  EXPECT_GT(rounds[0][1].at - rounds[0][0].at, rounds[0][2].at - rounds[0][1].at) << "640 MB against nothing";
  // take() waited for the device.
  EXPECT_GT(rounds[0][0].at + ahead, begin - 1e-3);
  EXPECT_LT(rounds[0][2].at + ahead, now() + 1e-3);
}

INSTANTIATE_TEST_SUITE_P(All, GraphSteps,
                         ::testing::Values(Recorded{"serial", "serial", "sgd", 1},
                                           Recorded{"serial_adam", "serial", "adam", 1},
                                           Recorded{"two", "replicated", "sgd", 2},
                                           Recorded{"two_adam", "replicated", "adam", 2},
                                           Recorded{"two_apart", "independent", "sgd", 2},
                                           Recorded{"four", "replicated", "sgd", 4}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mgcompare::testing
