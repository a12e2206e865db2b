// Gradients of convolutions by pairs of pixels and by flipped filters, against the same gradients as they are.

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "cuda/convolution_passes.h"
#include "cuda/transpose.h"
#include "gpu.h"
#include "model/rig.h"
#include "on_gpu.h"

namespace mgcompare::testing {
namespace {

using cuda::ConvolutionPass;
using cuda::ConvolutionProblem;
using cuda::Element;
using cuda::FlippedFilter;
using cuda::PixelPairs;

ConvolutionProblem problem_of(std::int64_t in, std::int64_t out, std::int64_t width, std::int64_t kernel, std::int64_t padding) {
  ConvolutionProblem made{.samples = 3, .in = in, .height = 9, .width = width, .out = out};
  made.kernel[0] = 2;
  made.kernel[1] = kernel;
  made.stride[0] = 2;
  made.stride[1] = 1;
  made.padding[0] = 1;
  made.padding[1] = padding;
  made.down = (made.height + 2 - 2) / 2 + 1;
  made.across = width + 2 * padding - kernel + 1;
  return made;
}

class CudaConvolution : public OnGpu {
 protected:
  static constexpr std::size_t kImage = 0, kFilter = 1, kResult = 2;

  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped()) device_ = std::make_unique<cuda::CudaDevice>(gpu(0));
  }

  static std::size_t size_of(const ConvolutionProblem& p, std::size_t tensor) {
    if (tensor == kImage) return static_cast<std::size_t>(p.samples * p.in * p.height * p.width);
    if (tensor == kResult) return static_cast<std::size_t>(p.samples * p.out * p.down * p.across);
    return static_cast<std::size_t>(p.out * p.in * p.kernel[0] * p.kernel[1]);
  }

  // What a pass writes, for numbers that are always the same.
  std::vector<float> result(const ConvolutionProblem& p, const std::optional<PixelPairs>& pairs, const std::optional<FlippedFilter>& flipped = {}) {
    const std::size_t written = p.pass == ConvolutionPass::data_gradient ? kImage : kFilter;
    std::vector<Array<std::uint8_t>> tensors;
    std::mt19937 random(17);
    for (const std::size_t tensor : {kImage, kFilter, kResult}) {
      std::vector<float> values(size_of(p, tensor));
      for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(random);
      const Array<float> wide = to_device(*device_, values);
      tensors.push_back(device_array<std::uint8_t>(*device_, values.size() * cuda::bytes_of(p.element)));
      cuda::convert(device_->compute_stream(), values.size(), wide.data(), Element::fp32, tensors.back().data(), p.element);
      device_->synchronize();
    }
    const cudnnHandle_t cudnn = device_->handles().cudnn;
    const cuda::ConvolutionCandidates candidates(cudnn, pairs ? pairs->problem() : flipped ? flipped->problem() : p);
    std::unique_ptr<cuda::ConvolutionPlan> plan;
    for (std::size_t k = 0; k < candidates.size() && plan == nullptr; ++k) plan = candidates.plan(k, cuda::kWorkspaceBytes);
    if (plan == nullptr) throw Error("cuDNN has no plan for " + p.text());
    cuda::ConvolutionTensors used{tensors[kImage].data(), tensors[kFilter].data(), tensors[kResult].data()};
    Array<std::uint8_t> filter;
    if (pairs) {
      filter = device_array<std::uint8_t>(*device_, pairs->filter_size() * cuda::bytes_of(p.element));
      used.filter = filter.data();
      if (written == kImage) pairs->expand(device_->compute_stream(), tensors[kFilter].data(), filter.data());
    }
    if (flipped) {
      filter = device_array<std::uint8_t>(*device_, flipped->filter_size() * cuda::bytes_of(p.element));
      flipped->flip(device_->compute_stream(), tensors[kFilter].data(), filter.data());
      used = {tensors[kResult].data(), filter.data(), tensors[kImage].data()};
    }
    plan->run(cudnn, used, device_->handles().workspace);
    if (pairs && written == kFilter) pairs->fold(device_->compute_stream(), filter.data(), tensors[kFilter].data());
    const Array<float> wide(*device_, size_of(p, written));
    cuda::convert(device_->compute_stream(), wide.size(), tensors[written].data(), p.element, const_cast<float*>(wide.data()), Element::fp32);
    return to_host(*device_, wide.span());
  }

  std::unique_ptr<cuda::CudaDevice> device_;
};

struct Precise {
  Precision precision;
  Element element;
  double bound;
};
constexpr Precise kPrecise[] = {{Precision::fp32, Element::fp32, 1e-5}, {Precision::tf32, Element::fp32, 5e-3}, {Precision::bf16, Element::bf16, 2e-2}};

TEST_F(CudaConvolution, HasTheSameGradientsByPairsOfPixels) {
  for (const auto& [precision, element, bound] : kPrecise) {
    for (const std::int64_t in : element == Element::fp32 ? std::vector<std::int64_t>{6, 8, 32} : std::vector<std::int64_t>{8, 32}) {
      for (const auto& [width, kernel, padding] :
           std::vector<std::array<std::int64_t, 3>>{{8, 3, 0}, {8, 3, 1}, {8, 3, 2}, {10, 5, 0}, {10, 5, 2}, {12, 7, 3}, {6, 1, 0}, {6, 1, 1}}) {
        for (const ConvolutionPass pass : {ConvolutionPass::data_gradient, ConvolutionPass::filter_gradient}) {
          ConvolutionProblem problem = problem_of(in, 16, width, kernel, padding);
          problem.pass = pass;
          problem.precision = precision;
          problem.element = element;
          const std::optional<PixelPairs> pairs = PixelPairs::of(problem);
          ASSERT_TRUE(pairs) << problem.text();
          EXPECT_LT(relative_error(result(problem, pairs), result(problem, {})), bound) << problem.text();
        }
      }
    }
  }
}

TEST_F(CudaConvolution, HasTheSameGradientsByFlippedFilters) {
  for (const auto& [precision, element, bound] : kPrecise) {
    for (const auto& [in, out] : std::vector<std::array<std::int64_t, 2>>{{8, 16}, {40, 8}, {96, 72}}) {
      for (const auto& [kernel, padding] : std::vector<std::array<std::int64_t, 2>>{{3, 0}, {3, 1}, {2, 1}, {5, 3}, {1, 0}}) {
        ConvolutionProblem problem = problem_of(in, out, 11, kernel, padding);
        problem.stride[0] = 1;
        problem.down = problem.height + 1;
        problem.pass = ConvolutionPass::data_gradient;
        problem.precision = precision;
        problem.element = element;
        const std::optional<FlippedFilter> flipped = FlippedFilter::of(problem);
        ASSERT_TRUE(flipped) << problem.text();
        EXPECT_LT(relative_error(result(problem, {}, flipped), result(problem, {})), bound) << problem.text();
      }
    }
  }
}

TEST(FlippedFilter, ServesStrideOneAndLessPaddingThanTheKernel) {
  ConvolutionProblem problem = problem_of(8, 16, 11, 3, 2);
  problem.pass = ConvolutionPass::data_gradient;
  EXPECT_FALSE(FlippedFilter::of(problem));  // rows have stride 2
  problem.stride[0] = 1;
  problem.down = problem.height + 1;
  EXPECT_EQ(FlippedFilter::of(problem)->problem().padding[0], 0);
  EXPECT_EQ(FlippedFilter::of(problem)->problem().padding[1], 0);
  problem.padding[1] = 3;
  EXPECT_FALSE(FlippedFilter::of(problem));
  problem.padding[1] = 2;
  EXPECT_TRUE(FlippedFilter::of(problem));
  problem.out = 1;
  EXPECT_FALSE(FlippedFilter::of(problem));
  problem.out = 16;
  problem.pass = ConvolutionPass::filter_gradient;
  EXPECT_FALSE(FlippedFilter::of(problem));
}

// Divergence must be visible, also behind a kernel of cuDNN that ends with relu.
TEST_F(CudaConvolution, ReluKeepsNotANumber) {
  const ModelConfig model{"diverged", {convolution(8, 3), layer("relu"), convolution(16, 3), layer("relu"), layer("flatten"), dense(3)}};
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    Rig rig(model, {3, 12, 12}, 3, 40);
    rig.weights[rig.spec.layers[2].bias.begin] = std::numeric_limits<float>::quiet_NaN();
    GpuRig gpu(rig, {.precision = precision});
    for (const bool training : {true, false}) {
      for (const float value : gpu.logits(0, 40, {training, 1, 1})) EXPECT_TRUE(std::isnan(value)) << to_string(precision);
    }
  }
}

TEST(PixelPairs, ServeEvenRowsWithStrideOne) {
  EXPECT_TRUE(PixelPairs::of(problem_of(32, 16, 8, 3, 0)));
  EXPECT_EQ(PixelPairs::of(problem_of(32, 16, 26, 3, 0))->problem().kernel[1], 2);
  EXPECT_EQ(PixelPairs::of(problem_of(32, 16, 26, 3, 1))->problem().kernel[1], 3);
  EXPECT_FALSE(PixelPairs::of(problem_of(32, 16, 9, 3, 1)));
  EXPECT_FALSE(PixelPairs::of(problem_of(32, 16, 8, 2, 0)));  // rows of 7
  ConvolutionProblem strided = problem_of(32, 16, 8, 3, 0);
  strided.stride[1] = 2;
  strided.across = 2;
  EXPECT_FALSE(PixelPairs::of(strided));
  ConvolutionProblem planar = problem_of(32, 16, 8, 3, 0);
  planar.channels_last = false;
  EXPECT_FALSE(PixelPairs::of(planar));
}

}  // namespace
}  // namespace mgcompare::testing
