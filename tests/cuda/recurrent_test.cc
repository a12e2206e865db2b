// GRU and LSTM layers on a GPU against the CPU twins, and inside recorded steps. tests/cuda/network_test.cc compares small ones
// with the reference loops.

#include "data/load.h"
#include "gpu.h"
#include "mgcompare/error.h"
#include "model/networks.h"
#include "training/fixture.h"

namespace mgcompare::testing {
namespace {

struct RecurrentTolerance {
  const char* type;
  const char* precision;
  double error;
  KernelChoice kernels = KernelChoice::fused;
};
std::string tolerance_text(const RecurrentTolerance& tolerance) {
  return std::string(tolerance.type) + "_" + tolerance.precision + (tolerance.kernels == KernelChoice::library ? "_by_library" : "");
}
void PrintTo(const RecurrentTolerance& tolerance, std::ostream* out) { *out << tolerance_text(tolerance); }

// Larger than one tile of any matrix product, and no multiple of one.
ModelConfig wide(const std::string& type) {
  return {"wide_" + type, {recurrent(type, 130, true), dropout(0.3), recurrent(type, 67, true), recurrent(type, 64), dense(10)}};
}

// Layers of one width, which are computed together, after one that reads another number of features. The second group returns every
// position, in rows that can be read four units at a time but are shorter than those of the states.
ModelConfig deep(const std::string& type) {
  return {"deep_" + type,
          {recurrent(type, 66, true), recurrent(type, 66, true), recurrent(type, 66, true), dropout(0.3), recurrent(type, 36, true),
           recurrent(type, 36, true), layer("flatten"), dense(10)}};
}

// `measures`: algorithms are chosen by measurement, so that repeated runs may round differently.
Numerics numerics_of(const RecurrentTolerance& tolerance, bool measures = false) {
  return {kind_named<Precision>(tolerance.precision), !measures, false, true, tolerance.kernels};
}
const Numerics kOfTheTwin{Precision::fp32, true, false, true};

class CudaRecurrent : public OnGpu, public ::testing::WithParamInterface<RecurrentTolerance> {};

TEST_P(CudaRecurrent, WholeGradientsAgreeWithTheCpuTwin) {
  for (const ModelConfig& model : {wide(GetParam().type), deep(GetParam().type)}) {
    for (const Shape& shape : {Shape{1, 5}, Shape{2, 33}, Shape{49, 128}}) {
      for (const std::size_t count : {1, 5, 128}) {
        Rig rig(model, shape, 10, 130, kOfTheTwin);
        GpuRig gpu(rig, numerics_of(GetParam()));
        const Pass pass{true, 5, 1};
        const std::vector<float> expected = rig.gradient(2, count, pass, 1.0f / 128), found = gpu.gradient(2, count, pass, 1.0f / 128);
        for (const Part& part : rig.spec.parts) {
          if (shape[0] == 1 && part.name.ends_with(".recurrent")) continue;  // zero
          const auto of = [&](const std::vector<float>& all) { return Span<const float>(all.data(), all.size()).slice(part.range); };
          const double error = relative_error(of(found), of(expected));
          std::printf("%s %s %zu x %zu, %zu samples, %s: %.2e\n", model.name.c_str(), GetParam().precision, shape[0], shape[1], count,
                      part.name.c_str(), error);
          EXPECT_LT(error, GetParam().error) << part.name << ", " << shape[0] << " positions, " << count << " samples";
        }
      }
    }
  }
}

// Rows of one unit or feature are mostly padding. The parts are too small for bounds of their own.
TEST_P(CudaRecurrent, LayersOfFewUnitsAgreeWithTheCpuTwin) {
  const char* const type = GetParam().type;
  for (const std::size_t units : {1, 2, 3}) {
    const ModelConfig model{"narrow", {recurrent(type, units, true), recurrent(type, units, true), recurrent(type, 9 - units), dense(10)}};
    for (const std::size_t count : {1, 5, 128}) {
      Rig rig(model, {7, 1}, 10, 130, kOfTheTwin);
      GpuRig gpu(rig, numerics_of(GetParam()));
      const double error = relative_error(gpu.gradient(2, count, {}, 1.0f / 128), rig.gradient(2, count, {}, 1.0f / 128));
      std::printf("%s of %zu units, %s, %zu samples: %.2e\n", type, units, GetParam().precision, count, error);
      EXPECT_LT(error, GetParam().error) << units << " units, " << count << " samples";
    }
  }
}

// The weights of all layers are converted on a stream of their own, those of the large layer while the small one may already need its
// own. Only the first pass of a network can find weights that are not converted yet.
TEST_P(CudaRecurrent, ASmallLayerBehindALargeOneWaitsForItsWeights) {
  const char* const type = GetParam().type;
  Rig rig({"uneven", {recurrent(type, 512, true), dropout(0.3), recurrent(type, 64), dense(10)}}, {2, 5}, 10, 130, kOfTheTwin);
  const Pass pass{true, 5, 1};
  const std::vector<float> expected = rig.gradient(2, 5, pass, 1.0f / 128);
  for (int repeat = 0; repeat < 10; ++repeat) {
    GpuRig gpu(rig, numerics_of(GetParam()));
    EXPECT_LT(relative_error(gpu.gradient(2, 5, pass, 1.0f / 128), expected), GetParam().error) << repeat;
  }
}

TEST_P(CudaRecurrent, WithMeasuredAlgorithmsNothingDependsOnEarlierPassesOrTheBatch) {
  for (const ModelConfig& model : {wide(GetParam().type), deep(GetParam().type)}) {
    Rig rig(model, {9, 33}, 10, 130, kOfTheTwin);
    GpuRig gpu(rig, numerics_of(GetParam(), true));
    gpu.gradient(0, 128);
    for (const bool training : {true, false}) {
      for (const std::size_t count : {7, 1, 128}) {
        const Pass pass{training, 5, 1};
        EXPECT_LT(relative_error(gpu.logits(1, count, pass), rig.logits(1, count, pass)), GetParam().error) << model.name << ", " << count << " samples";
      }
    }
    const Pass pass{true, 5, 1};
    EXPECT_LT(relative_error(gpu.gradient(2, 128, pass, 1.0f / 128), rig.gradient(2, 128, pass, 1.0f / 128)), GetParam().error) << model.name;
  }
}

TEST_P(CudaRecurrent, TheSameCallsGiveTheSameBits) {
  Rig rig(deep(GetParam().type), {9, 33}, 10, 403);
  GpuRig one(rig, numerics_of(GetParam())), other(rig, numerics_of(GetParam()));
  for (const std::size_t count : {100, 400}) {
    other.gradient(0, 7);
    other.gradient(1, count);
    for (int repeat = 0; repeat < 20; ++repeat)
      ASSERT_EQ(one.gradient(3, count, {true, 5, 1}), other.gradient(3, count, {true, 5, 1})) << count << " samples, " << repeat;
  }
}

TEST_P(CudaRecurrent, CallsReadyFromTheEndToTheStartAndAnEmptyShareGivesZeros) {
  Rig rig(deep(GetParam().type), {7, 5}, 10, 32);
  GpuRig gpu(rig, numerics_of(GetParam()));
  for (const std::size_t count : {20, 0}) {
    std::size_t begin = rig.spec.parameters;
    const std::vector<float> gradient = gpu.gradient(0, count, {}, 1, [&](Vec slice) {
      const auto at = static_cast<std::size_t>(slice.data() - gpu.network->gradients().data());
      EXPECT_EQ(at + slice.size(), begin);
      begin = at;
    });
    EXPECT_EQ(begin, 0u);
    EXPECT_EQ(gradient == std::vector<float>(gradient.size(), 0.0f), count == 0);
  }
}

TEST_P(CudaRecurrent, RefusesTheGradientOfAnEvaluationPass) {
  Rig rig(wide(GetParam().type), {7, 5}, 10, 32);
  GpuRig gpu(rig, numerics_of(GetParam()));
  EXPECT_THROW(gpu.gradient(0, 20, {false, 0, 0}), Error);
}

TEST_P(CudaRecurrent, RecordedStepsGiveTheBitsOfStepsByTheHost) {
  DataConfig data;
  data.set = DataSource::synthetic;
  data.shape = {9, 6};
  data.classes = 10;
  data.samples = 730;
  data.test_samples = 80;
  const Dataset sequences = load_dataset(data, {}, [](const std::string&) {});
  Trial trial = small_trial(1, "serial");
  trial.device_kind = DeviceKind::cuda;
  trial.config.data = data;
  trial.config.model = deep(GetParam().type);
  trial.config.epochs = 3;  // with a short step at the end of each
  const auto outcome = [&](bool recorded) {
    return run(trial, {}, [&](TrainingRequest& request) {
      request.platform = &platform(DeviceKind::cuda);
      request.dataset = &sequences;
      request.numerics = numerics_of(GetParam());
      request.audit = !recorded;  // an audit needs every step issued by the host
    });
  };
  const TrainingOutcome device = outcome(true), host = outcome(false);
  EXPECT_EQ(device.weights, host.weights);
  ASSERT_EQ(device.result.epochs.size(), host.result.epochs.size());
  EXPECT_LT(device.result.epochs.back().loss, device.result.epochs.front().loss);
  EXPECT_NEAR(device.result.epochs.back().loss, host.result.epochs.back().loss, 1e-12);
}

std::vector<RecurrentTolerance> tolerances(KernelChoice kernels) {
  std::vector<RecurrentTolerance> all;
  for (const char* const type : {"gru", "lstm"})
    for (const auto& [precision, error] : {std::pair{"fp32", 1e-4}, std::pair{"tf32", 5e-3}, std::pair{"bf16", 2e-2}})
      all.push_back({type, precision, error, kernels});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, CudaRecurrent, ::testing::ValuesIn(tolerances(KernelChoice::fused)), [](const auto& info) { return tolerance_text(info.param); });
INSTANTIATE_TEST_SUITE_P(ByLibrary, CudaRecurrent, ::testing::ValuesIn(tolerances(KernelChoice::library)),
                         [](const auto& info) { return tolerance_text(info.param); });

}  // namespace
}  // namespace mgcompare::testing
