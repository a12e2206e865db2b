// Networks on a GPU against the reference loops in double precision, and LeNet's whole gradient against the CPU back
// end.

#include <gmock/gmock.h>

#include <limits>
#include <map>

#include "gpu.h"
#include "mgcompare/error.h"

namespace mgcompare::testing {
namespace {

struct Tolerance {
  const char* precision;
  double layer, lenet;
  KernelChoice kernels = KernelChoice::fused;
};

constexpr Tolerance kFp32{"fp32", 2e-5, 1e-4}, kTf32{"tf32", 3e-3, 3e-3}, kBf16{"bf16", 2e-2, 2e-2};
constexpr Tolerance by_library(Tolerance tolerance) {
  tolerance.kernels = KernelChoice::library;
  return tolerance;
}
std::string text_of(const Tolerance& tolerance) {
  return std::string(tolerance.precision) + (tolerance.kernels == KernelChoice::library ? "_by_library" : "");
}

class CudaLayers : public OnGpu, public ::testing::WithParamInterface<Case> {};

TEST_P(CudaLayers, LogitsAgreeWithTheReferenceLoops) {
  const Case& test = GetParam();
  for (const std::size_t count : {1, 3, 17, 60}) {
    Rig rig({"test", test.layers}, test.samples(), 64, test.numerics);
    for (const bool on_host : {false, true}) {
      GpuRig gpu(rig, test.numerics, on_host);
      const Numbers expected = reference_forward(
          rig.spec, Numbers(rig.weights.begin(), rig.weights.end()), Numbers(rig.spec.buffers, 0), rig.inputs(4, count),
          rig.ids(4, count), {true, test.numerics.dropout, test.numerics.average_pooling, 11, 2});
      // Batch normalisation of one sample without spatial dimensions has zero variance, so only rounding errors are
      // left.
      const bool lone = count == 1 && test.name == "batch_norm_of_rows";
      EXPECT_LT(relative_error(gpu.logits(4, count, {true, 11, 2}), expected), lone ? 1e-3 : kFp32.layer) << count;
    }
  }
}

TEST_P(CudaLayers, GradientsAgreeWithFiniteDifferences) {
  const Case& test = GetParam();
  for (const std::size_t count : {2, 17}) {
    Rig rig({"test", test.layers}, test.samples(), 64, test.numerics);
    GpuRig gpu(rig, test.numerics);
    const std::vector<float> gradient = gpu.gradient(1, count, {true, 11, 2});
    const ReferencePass pass{true, test.numerics.dropout, test.numerics.average_pooling, 11, 2};
    const std::size_t all = gradient.size(), stride = std::max<std::size_t>(1, all / 100);
    EXPECT_LT(rig.gradient_error(gradient, 1, count, {0, all}, stride, pass), kFp32.layer) << count << " samples";
  }
}

TEST_P(CudaLayers, AnEmptyShareGivesZeros) {
  const Case& test = GetParam();
  Rig rig({"test", test.layers}, test.samples(), 64, test.numerics);
  GpuRig gpu(rig, test.numerics);
  gpu.gradient(0, 5);  // leaves other values where the gradient is
  EXPECT_EQ(gpu.gradient(0, 0), std::vector<float>(rig.spec.parameters, 0.0f));
}

TEST_P(CudaLayers, TheSameCallsGiveTheSameBits) {
  const Case& test = GetParam();
  Numerics numerics = test.numerics;
  numerics.deterministic = true;
  Rig rig({"test", test.layers}, test.samples(), 64, test.numerics);
  GpuRig one(rig, numerics), other(rig, numerics);
  other.gradient(2, 17, {true, 1, 1});
  EXPECT_EQ(one.gradient(1, 33, {true, 5, 1}), other.gradient(1, 33, {true, 5, 1}));
}

INSTANTIATE_TEST_SUITE_P(All, CudaLayers, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(ByLibrary, CudaLayers, ::testing::ValuesIn(by_library(cases())),
                         [](const auto& info) { return info.param.name; });

class CudaPrecision : public OnGpu, public ::testing::WithParamInterface<Tolerance> {};

// Without kinks: near-ties in relu or max pooling would turn rounding errors into real differences. Average pooling
// replaces max pooling, and tanh replaces relu.
ModelConfig smooth(ModelConfig model) {
  for (LayerConfig& config : model.layers)
    if (config.type == LayerType::relu) config.type = LayerType::tanh;
  return model;
}

TEST_P(CudaPrecision, WholeGradientsAgreeWithTheCpuTwin) {
  const Tolerance tolerance = GetParam();
  for (const ModelConfig& model : {smooth(lenet()), smooth(mlp()), smooth(keras_cnn()), smooth(keras_bn_cnn())}) {
    for (const std::size_t count : {1, 7, 60, 128}) {
      Rig rig(model, {1, 28, 28}, 10, 130, {Precision::fp32, true, true, true});
      GpuRig gpu(rig, {kind_named<Precision>(tolerance.precision), true, true, true, tolerance.kernels});
      const std::vector<float> expected = rig.gradient(2, count, {true, 5, 1}, 1.0f / 128);
      const std::vector<float> found = gpu.gradient(2, count, {true, 5, 1}, 1.0f / 128);
      const double error = relative_error(found, expected);
      RecordProperty(model.name + std::to_string(count), std::to_string(error));
      std::printf("%s %s %zu: %.2e\n", text_of(tolerance).c_str(), model.name.c_str(), count, error);
      // Normalisation divides by a standard deviation, which amplifies errors of the layers before it.
      const double amplified = model.name == "keras_bn_cnn" ? 5 : 1;
      EXPECT_LT(error, tolerance.lenet * amplified) << model.name << ", " << count << " samples";
    }
  }
}

TEST_P(CudaPrecision, LenetWithMaxPoolingAgreesWithTheCpuTwin) {
  const Tolerance tolerance = GetParam();
  for (const std::size_t count : {1, 7, 60, 128, 511}) {
    Rig rig(lenet(), {1, 28, 28}, 10, 515);
    GpuRig gpu(rig, {kind_named<Precision>(tolerance.precision), false, false, true, tolerance.kernels});
    const double error = relative_error(gpu.gradient(2, count, {}, 1.0f / 128), rig.gradient(2, count, {}, 1.0f / 128));
    std::printf("%s lenet, max pooling, %zu: %.2e\n", text_of(tolerance).c_str(), count, error);
    EXPECT_LT(error, tolerance.lenet * (std::string(tolerance.precision) == "fp32" ? 1 : 5)) << count << " samples";
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaPrecision,
                         ::testing::Values(kFp32, kTf32, kBf16, by_library(kFp32), by_library(kTf32), by_library(kBf16)),
                         [](const auto& info) { return text_of(info.param); });

class CudaNetwork : public OnGpu {};

// The gradients of a normalisation behind which is a convolution without padding follow from that convolution's filter, unless a channel
// has hardly any scale.
TEST_F(CudaNetwork, GradientsOfNormalizationAreThoseOfASumOverTheBatch) {
  for (const bool pooled : {false, true}) {
    ModelConfig model{"normalised", {convolution(40, 2), layer("tanh"), layer("batch_norm"), strided(convolution(12, 3), pooled ? 1 : 2, 1), layer("tanh")}};
    if (pooled) model.layers.push_back(max_pool(2));
    model.layers.insert(model.layers.end(), {layer("flatten"), dense(10)});
    for (const bool has_small_scales : {false, true}) {
      Rig rig(model, {3, 8, 11}, 10, 70);
      const LayerSpec& normal = rig.spec.layers[2];
      for (std::size_t c = 0; c < 40; ++c) {
        float& gamma = rig.weights[normal.weights.begin + c];
        float& beta = rig.weights[normal.bias.begin + c];
        gamma = c % 3 == 0 ? -0.6f : 1.2f;
        beta = c % 4 == 0 ? 0.0f : -0.5f;
        if (!has_small_scales || c % 5 != 0) continue;
        gamma = c % 10 == 0 ? 0.0f : 1e-3f;
        beta = 2;
      }
      const auto gradient = [&](Precision precision, KernelChoice kernels = KernelChoice::fused) {
        GpuRig gpu(rig, {.precision = precision, .deterministic = true, .kernels = kernels});
        gpu.gradient(1, 60, {true, 5, 1});
        return gpu.gradient(2, 33, {true, 5, 1});
      };
      for (const auto& [precision, bound] : {std::pair{Precision::tf32, kTf32.layer * 5}, std::pair{Precision::bf16, kBf16.layer * 5}}) {
        // cuDNN sums over the batch. In tf32 it also rounds as the fused kernels do, so that max pooling takes the same values: with those of
        // fp32, near-ties would go the other way, as they do in bf16.
        if (pooled && precision == Precision::bf16) continue;
        const std::vector<float> expected = pooled ? gradient(precision, KernelChoice::library) : gradient(Precision::fp32);
        const std::vector<float> found = gradient(precision);
        const auto part = [&](const std::vector<float>& all, const Range& range) {
          return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(range.begin), all.begin() + static_cast<std::ptrdiff_t>(range.end));
        };
        for (const Range& range : {normal.weights, normal.bias, rig.spec.layers[0].weights})
          EXPECT_LT(relative_error(part(found, range), part(expected, range)), bound)
              << to_string(precision) << ", pooled " << pooled << ", small scales " << has_small_scales << ", from " << range.begin;
      }
    }
  }
}

// Batch normalisation takes over the bias of the layer before it. Without an activation between them, it matters for its running means only.
TEST_F(CudaNetwork, RunningMeansIncludeTheBiasBeforeThem) {
  for (const std::vector<LayerConfig>& between : {std::vector<LayerConfig>{}, std::vector<LayerConfig>{layer("tanh")}}) {
    ModelConfig model{"biased", {convolution(8, 3)}};
    const auto add = [&](const std::vector<LayerConfig>& layers) { model.layers.insert(model.layers.end(), layers.begin(), layers.end()); };
    add(between);
    add({layer("batch_norm"), layer("relu"), layer("flatten"), dense(6)});
    add(between);
    add({layer("batch_norm"), layer("tanh"), dense(10)});
    Rig rig(model, {3, 8, 11}, 10, 70);
    for (const Part& part : rig.spec.parts)
      if (part.shape.size() == 1)
        std::fill(rig.weights.begin() + static_cast<std::ptrdiff_t>(part.range.begin), rig.weights.begin() + static_cast<std::ptrdiff_t>(part.range.end), 0.7f);
    rig.load(rig.weights);
    const std::vector<float> expected = rig.gradient(0, 64, {true, 1, 1});
    for (const KernelChoice kernels : {KernelChoice::fused, KernelChoice::library}) {
      GpuRig gpu(rig, {.kernels = kernels});
      EXPECT_LT(relative_error(gpu.gradient(0, 64, {true, 1, 1}), expected), kFp32.layer * 5);
      EXPECT_LT(relative_error(to_host(gpu.device, gpu.network->buffers()), to_host(rig.device, rig.network->buffers())), 1e-5);
      EXPECT_LT(relative_error(gpu.logits(3, 60, {false, 1, 1}), rig.logits(3, 60, {false, 1, 1})), kFp32.layer);
    }
  }
}

// The last batch of an epoch may have one sample. Without spatial dimensions its variance is 0, and there is no unbiased one.
TEST_F(CudaNetwork, RunningStatisticsFollowASingleRow) {
  Rig rig({"rows", {dense(6), layer("batch_norm"), layer("tanh"), dense(3)}}, {4}, 3, 70);
  for (const std::size_t count : {64, 1}) rig.gradient(0, count, {true, 1, 1});
  for (const KernelChoice kernels : {KernelChoice::fused, KernelChoice::library}) {
    GpuRig gpu(rig, {.kernels = kernels});
    for (const std::size_t count : {64, 1}) gpu.gradient(0, count, {true, 1, 1});
    EXPECT_LT(relative_error(to_host(gpu.device, gpu.network->buffers()), to_host(rig.device, rig.network->buffers())), 1e-5) << to_string(kernels);
    EXPECT_LT(relative_error(gpu.logits(3, 60, {false, 1, 1}), rig.logits(3, 60, {false, 1, 1})), kFp32.layer) << to_string(kernels);
  }
}

TEST_F(CudaNetwork, SaysWhatItStoresAndWhatTheLibrariesDoNotCompute) {
  const ModelConfig model{"said", {convolution(8, 3), layer("relu"), dropout(0.2), layer("gelu"), layer("flatten"), dense(10)}};
  Rig rig(model, {3, 8, 11}, 10, 70);
  GpuRig fused(rig, {.precision = Precision::bf16}), library(rig, {.kernels = KernelChoice::library});
  for (GpuRig* gpu : {&fused, &library}) gpu->gradient(0, 8);
  std::map<std::string, std::uint64_t> bytes;
  for (const Stored& stored : fused.network->stored()) bytes[stored.type] += stored.bytes;
  EXPECT_GT(bytes["bf16"], 8u * 8 * 6 * 9 * 2);  // the output of the convolution, at least
  EXPECT_GT(bytes["fp32"], 8u * 10 * 4);          // the logits
  EXPECT_TRUE(fused.network->computed_without_library().empty());
  EXPECT_THAT(library.network->computed_without_library(), ::testing::IsSupersetOf({"dropout", "gelu", "the loss"}));
  EXPECT_THAT(library.network->computed_without_library(), ::testing::Not(::testing::Contains("conv")));
}

// Pixels and weights that tf32 represents exactly, so that near-ties of max pooling do not change and only gradients
// are rounded. The first layer is LeNet's first convolution in one network and its second one in the other.
TEST_F(CudaNetwork, FusedConvolutionsInTf32AgreeWithTheCpuTwin) {
  struct Fused {
    Shape shape;
    ModelConfig model;
  };
  const auto network = [](const char* name, std::size_t channels) {
    return ModelConfig{name, {convolution(channels, 5), layer("tanh"), max_pool(2), layer("flatten"), dense(10)}};
  };
  for (const Fused& fused : {Fused{{1, 28, 28}, network("stem", 20)}, Fused{{20, 12, 12}, network("tile", 50)}}) {
    Rig rig(fused.model, fused.shape, 10, 515);
    std::vector<std::uint8_t> extremes(rig.split.values.data(), rig.split.values.data() + rig.split.values.size());
    for (std::uint8_t& byte : extremes) byte = byte < 128 ? 0 : 255;
    rig.split.values = SharedBytes(std::move(extremes));
    rig.feed = byte_feed(rig.device, rig.spec, rig.split);
    rig.feed->set_order({rig.order.data(), rig.order.size()});
    for (float& weight : rig.weights) weight = std::ldexp(std::round(std::ldexp(weight, 9)), -9);
    rig.load(rig.weights);
    GpuRig gpu(rig, {Precision::tf32, false, false, true});
    for (const std::size_t count : {1, 7, 128, 140, 300, 511}) {
      const std::string what = fused.model.name + ", " + std::to_string(count) + " samples";
      EXPECT_LT(relative_error(gpu.logits(2, count), rig.logits(2, count)), kTf32.layer) << what;
      const std::vector<float> found = gpu.gradient(2, count, {}, 1.0f / 128), expected = rig.gradient(2, count, {}, 1.0f / 128);
      for (const Part& part : rig.spec.parts) {
        const auto of = [&](const std::vector<float>& all) {
          return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(part.range.begin),
                                    all.begin() + static_cast<std::ptrdiff_t>(part.range.end));
        };
        const double error = relative_error(of(found), of(expected));
        std::printf("%s, %s: %.2e\n", what.c_str(), part.name.c_str(), error);
        EXPECT_LT(error, kTf32.layer) << what << ", " << part.name;
      }
    }
  }
}

TEST_F(CudaNetwork, LenetsGradientAgreesWithFiniteDifferences) {
  Rig rig(lenet(), {1, 28, 28}, 10, 8);
  GpuRig gpu(rig, {});
  const std::vector<float> gradient = gpu.gradient(0, 2);
  for (const Part& part : rig.spec.parts)
    EXPECT_LT(rig.gradient_error(gradient, 0, 2, part.range, part.range.size() / 5 + 1), kFp32.lenet) << part.name;
}

TEST_F(CudaNetwork, CallsReadyFromTheEndToTheStartAndAnEmptyShareGivesZeros) {
  for (const ModelConfig& model : {lenet(), mlp(), keras_bn_cnn()}) {
    Rig rig(model, {1, 28, 28}, 10, 32);
    GpuRig gpu(rig, {});
    for (const std::size_t count : {20, 0}) {
      std::size_t begin = rig.spec.parameters;
      const std::vector<float> gradient = gpu.gradient(0, count, {}, 1, [&](Vec slice) {
        const auto at = static_cast<std::size_t>(slice.data() - gpu.network->gradients().data());
        EXPECT_EQ(at + slice.size(), begin) << model.name;
        begin = at;
      });
      EXPECT_EQ(begin, 0u) << model.name;
      const bool zeros = gradient == std::vector<float>(gradient.size(), 0.0f);
      EXPECT_EQ(zeros, count == 0) << model.name;
    }
  }
}

TEST_F(CudaNetwork, TheSameCallsGiveTheSameBits) {
  for (const ModelConfig& model : {lenet(), keras_bn_cnn()}) {
    for (const char* precision : {"fp32", "tf32"}) {
      Rig rig(model, {1, 28, 28}, 10, 403);
      GpuRig one(rig, {kind_named<Precision>(precision), true, false, true}), other(rig, {kind_named<Precision>(precision), true, false, true});
      // Results must not depend on earlier passes, nor on whether a batch has more samples than the GPU has
      // multiprocessors.
      for (const std::size_t count : {100, 400}) {
        other.gradient(0, 7);
        other.gradient(1, count);
        EXPECT_EQ(one.gradient(3, count, {true, 5, 1}), other.gradient(3, count, {true, 5, 1}))
            << model.name << ", " << precision << ", " << count << " samples";
      }
    }
  }
}

TEST_F(CudaNetwork, TalliesLossHitsAndSamples) {
  Rig rig(lenet(), {1, 28, 28}, 10, 130);
  GpuRig gpu(rig, {});
  const Vec logits = gpu.network->forward(gpu.feed, 0, 130, {false, 0, 0}, {});
  gpu.network->loss(gpu.feed, 0, 130, logits, {}, 1);
  const std::vector<float> expected = rig.logits(0, 130, {false, 0, 0});
  rig.network->loss(*rig.feed, 0, 130, {expected.data(), expected.size()}, {}, 1);
  const Tally found = gpu.network->take_tally(), wanted = rig.network->take_tally();
  EXPECT_NEAR(found.loss, wanted.loss, 1e-3);
  EXPECT_EQ(found.correct, wanted.correct);
  EXPECT_EQ(found.predictions, 130u);
  EXPECT_EQ(gpu.network->take_tally().predictions, 0u);
}

TEST_F(CudaNetwork, ANaNShowsInTheLossAndIsNeverCorrect) {
  Rig rig(lenet(), {1, 28, 28}, 10, 32);
  rig.weights[0] = std::numeric_limits<float>::quiet_NaN();
  GpuRig gpu(rig, {});
  const Vec logits = gpu.network->forward(gpu.feed, 0, 32, {false, 0, 0}, {});
  gpu.network->loss(gpu.feed, 0, 32, logits, {}, 1);
  const Tally tally = gpu.network->take_tally();
  EXPECT_TRUE(std::isnan(tally.loss));
  EXPECT_EQ(tally.correct, 0u);
}

TEST_F(CudaNetwork, RefusesWhatItCannotDo) {
  Rig rig(mlp(), {1, 28, 28}, 10, 8);
  EXPECT_THROW(kind_named<Precision>("fp8"), Error);
  GpuRig gpu(rig, {});
  EXPECT_THROW(gpu.logits(4, 5), Error);
  const Array<float> slopes(gpu.device, 50);
  EXPECT_THROW(gpu.network->backward(slopes.span(), {}), Error);
  EXPECT_THROW(gpu.device.allocate(std::size_t{1} << 50), OutOfMemory);
  EXPECT_NO_THROW(gpu.device.synchronize());
}

}  // namespace
}  // namespace mgcompare::testing
