// Products of small dense layers against loops in double precision, with sizes that are no multiples of what a lane, a warp or a
// block computes.

#include "cuda/small_dense.h"

#include <cmath>
#include <random>
#include <string>

#include "cuda/transpose.h"
#include "model/rig.h"
#include "on_gpu.h"

namespace mgcompare::testing {
namespace {

struct Size {
  std::size_t rows, inputs, outputs;
};

std::string text_of(const Size& size) {
  return std::to_string(size.rows) + " rows, " + std::to_string(size.inputs) + " inputs, " + std::to_string(size.outputs) + " outputs";
}

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::tanh: return std::tanh(x);
    case Activation::relu: return std::max(x, 0.0);
    case Activation::sigmoid: return 1 / (1 + std::exp(-x));
  }
  return x;
}

double slope(Activation activation, double y) {
  switch (activation) {
    case Activation::none: return 1;
    case Activation::tanh: return 1 - y * y;
    case Activation::relu: return y > 0 ? 1 : 0;
    case Activation::sigmoid: return y * (1 - y);
  }
  return 1;
}

class SmallProducts : public OnGpu, public ::testing::WithParamInterface<cuda::Element> {
 protected:
  // Values that the type of the factors represents, in its precision for products: 8 bits.
  std::vector<float> numbers(std::size_t count) {
    std::vector<float> all(count);
    std::uniform_int_distribution<int> steps(-128, 128);
    for (float& each : all) each = static_cast<float>(steps(generator_)) / 128;
    return all;
  }
  // In the type of the factors.
  Array<std::uint8_t> stored(cuda::CudaDevice& device, const std::vector<float>& values) {
    const Array<float> floats = to_device(device, values);
    Array<std::uint8_t> made(device, values.size() * cuda::bytes_of(GetParam()) + 1);
    cuda::convert(device.compute_stream(), values.size(), floats.data(), cuda::Element::fp32, made.data(), GetParam());
    device.synchronize();
    return made;
  }
  std::vector<float> loaded(cuda::CudaDevice& device, const Array<std::uint8_t>& values, std::size_t count) {
    const Array<float> floats(device, count);
    cuda::convert(device.compute_stream(), count, values.data(), GetParam(), floats.data(), cuda::Element::fp32);
    return to_host(device, floats.span());
  }
  double tolerance() const { return GetParam() == cuda::Element::bf16 ? 4e-3 : 1e-5; }

 private:
  std::mt19937 generator_{5};
};

TEST_P(SmallProducts, AgreeWithLoops) {
  cuda::CudaDevice device(gpu(0));
  if (!cuda::SmallDense::supports(device, Precision::tf32)) GTEST_SKIP() << "this GPU has no tensor cores for tf32";
  const Activation activations[] = {Activation::none, Activation::tanh, Activation::relu, Activation::sigmoid};
  std::size_t turn = 0;
  for (const Size& size : {Size{1, 1, 1}, Size{3, 5, 17}, Size{16, 16, 16}, Size{33, 17, 20}, Size{128, 784, 128}, Size{7, 100, 64},
                           Size{300, 65, 130}, Size{260, 68, 516}, Size{129, 36, 500}, Size{1000, 64, 24}, Size{64, 2050, 19}}) {
    const auto [rows, inputs, outputs] = size;
    const Activation activation = activations[turn % 4], before = activations[turn / 2 % 4];
    const bool biased = ++turn % 3 != 0;
    const std::vector<float> in = numbers(rows * inputs), weights = numbers(outputs * inputs), bias = numbers(outputs),
                             gradient = numbers(rows * outputs);
    const Array<std::uint8_t> in_there = stored(device, in), weights_there = stored(device, weights), gradient_there = stored(device, gradient);
    const Array<float> bias_there = to_device(device, bias), own_weights = to_device(device, weights);
    const cuda::SmallDense::Weights of_layer = turn % 2 == 0 ? cuda::SmallDense::Weights{own_weights.data(), cuda::Element::fp32}
                                                             : cuda::SmallDense::Weights{weights_there.data(), GetParam()};
    std::vector<double> out(rows * outputs), of_inputs(rows * inputs), of_weights(outputs * inputs), of_bias(outputs);
    for (std::size_t m = 0; m < rows; ++m) {
      for (std::size_t n = 0; n < outputs; ++n) {
        const double slope_of_out = gradient[m * outputs + n];
        double sum = biased ? bias[n] : 0;
        for (std::size_t k = 0; k < inputs; ++k) {
          sum += double{in[m * inputs + k]} * weights[n * inputs + k];
          of_inputs[m * inputs + k] += slope_of_out * weights[n * inputs + k];
          of_weights[n * inputs + k] += slope_of_out * in[m * inputs + k];
        }
        out[m * outputs + n] = activated(activation, sum);
        of_bias[n] += slope_of_out;
      }
      for (std::size_t k = 0; k < inputs; ++k) of_inputs[m * inputs + k] *= slope(before, in[m * inputs + k]);
    }
    const cuda::SmallDense layer(device, GetParam(), inputs, outputs);
    Array<std::uint8_t> out_there = stored(device, std::vector<float>(rows * outputs)), of_inputs_there = stored(device, in);
    const Array<float> of_weights_there(device, outputs * inputs), of_bias_there(device, outputs);
    layer.forward(activation, in_there.data(), of_layer, biased ? bias_there.data() : nullptr, out_there.data(), rows);
    layer.backward_data(gradient_there.data(), of_layer, before, in_there.data(), of_inputs_there.data(), rows);
    layer.backward_weights(device.compute_stream(), in_there.data(), gradient_there.data(), of_weights_there.data(),
                           biased ? of_bias_there.data() : nullptr, rows);
    EXPECT_LT(relative_error(loaded(device, out_there, out.size()), out), tolerance()) << text_of(size);
    EXPECT_LT(relative_error(loaded(device, of_inputs_there, of_inputs.size()), of_inputs), tolerance()) << text_of(size);
    EXPECT_LT(relative_error(to_host(device, of_weights_there.span()), of_weights), 1e-5) << text_of(size);
    if (biased) {
      EXPECT_LT(relative_error(to_host(device, of_bias_there.span()), of_bias), 1e-5) << text_of(size);
    }
    // No rows: there are no terms.
    layer.backward_weights(device.compute_stream(), in_there.data(), gradient_there.data(), of_weights_there.data(), of_bias_there.data(), 0);
    EXPECT_EQ(to_host(device, of_weights_there.span()), std::vector<float>(outputs * inputs, 0.0f)) << text_of(size);
    EXPECT_EQ(to_host(device, of_bias_there.span()), std::vector<float>(outputs, 0.0f)) << text_of(size);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SmallProducts, ::testing::Values(cuda::Element::fp32, cuda::Element::bf16),
                         [](const auto& info) { return std::string(info.param == cuda::Element::bf16 ? "bf16" : "tf32"); });

}  // namespace
}  // namespace mgcompare::testing
