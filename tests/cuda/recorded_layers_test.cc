// Every layer in steps replayed as CUDA graphs, against the same steps issued by the host.

#include "gpu.h"
#include "training/fixture.h"

namespace mgcompare::testing {
namespace {

class RecordedLayers : public OnGpu, public ::testing::WithParamInterface<Case> {};

// Four full batches and a short one in each epoch; the short one is captured in the second epoch.
TEST_P(RecordedLayers, GiveTheBitsOfStepsByTheHost) {
  const Case& test = GetParam();
  Dataset set;
  set.spec = test.samples();
  set.train = random_split(set.spec, 61);
  set.test = part_of(set.train, 0, 10);
  Trial trial = small_trial(1, "serial");
  trial.device_kind = DeviceKind::cuda;
  trial.devices = 1;
  trial.global_batch = 13;
  trial.config.epochs = 3;
  trial.config.optimizer.learning_rate = 0.01;
  trial.config.model = {"test", test.layers};
  for (std::size_t i = 0; i < test.layers.size(); ++i) {
    LayerConfig& layer = trial.config.model.layers[i];
    if (layer.name.empty()) layer.name = std::string(to_string(layer.type)) + " " + std::to_string(i);
    layer.weight_decay = i % 2 == 0 ? std::optional<double>(0.01) : std::nullopt;
  }
  const auto weights = [&](bool recorded) {
    return run(trial, {}, [&](TrainingRequest& request) {
             request.dataset = &set;
             request.platform = &platform(DeviceKind::cuda);
             request.numerics = test.numerics;
             request.numerics.deterministic = true;
             request.audit = !recorded;  // an audit needs every step issued by the host
           }).weights;
  };
  EXPECT_EQ(weights(true), weights(false));
}

INSTANTIATE_TEST_SUITE_P(All, RecordedLayers, ::testing::ValuesIn(cases()), [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(ByLibrary, RecordedLayers, ::testing::ValuesIn(by_library(cases())),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mgcompare::testing
