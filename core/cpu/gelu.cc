#include "cpu/gelu.h"

#include <cmath>

namespace mgcompare {
namespace {

constexpr float kRootOfHalf = 0.70710678f, kPeak = 0.39894228f;  // of the normal density

// The normal distribution function.
float below(float x) { return 0.5f * std::erfc(-x * kRootOfHalf); }

class Gelu : public Layer {
 public:
  Gelu(Port& input, Tensor& output) : input_(input), output_(output) {}

  void forward(const Work& work) override {
    const float* const x = input_.tensor->value;
    for (std::size_t i = 0; i < output_.size(work.samples); ++i) output_.value[i] = x[i] * below(x[i]);
  }

  void backward(const Work& work) override {
    if (!input_.tensor->needs_gradient) return;
    const float* const x = input_.tensor->value;
    for (std::size_t i = 0; i < output_.size(work.samples); ++i) {
      const float slope = below(x[i]) + x[i] * kPeak * std::exp(-0.5f * x[i] * x[i]);
      input_.gradient[i] = output_.gradient[i] * slope;
    }
  }

 private:
  Port& input_;
  Tensor& output_;
};

}  // namespace

std::unique_ptr<Layer> make_gelu(Port& input, Tensor& output) { return std::make_unique<Gelu>(input, output); }

}  // namespace mgcompare
