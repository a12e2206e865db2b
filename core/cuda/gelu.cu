#include "cuda/gelu.h"

#include "cuda/device.h"
#include "cuda/launch.h"

namespace mgcompare::cuda {
namespace {

constexpr float kRootOfHalf = 0.70710678f, kPeak = 0.39894228f;  // of the normal density

// The normal distribution function.
__device__ float below(float x) { return 0.5f * erfcf(-x * kRootOfHalf); }

class Gelu : public Layer {
 public:
  Gelu(CudaDevice& device, Port& input, Tensor& output) : device_(device), input_(input), output_(output) {}

  void forward(const Work& work) override {
    const float* const x = input_.tensor->value;
    float* const y = output_.value;
    for_each_index(device_.compute_stream(), output_.size(work.samples),
                   [=] __device__(std::size_t i) { y[i] = x[i] * below(x[i]); });
  }

  void backward(const Work& work) override {
    if (!input_.tensor->needs_gradient) return;
    const float* const x = input_.tensor->value;
    const float* const dy = output_.gradient;
    float* const dx = input_.gradient;
    for_each_index(device_.compute_stream(), output_.size(work.samples), [=] __device__(std::size_t i) {
      dx[i] = dy[i] * (below(x[i]) + x[i] * kPeak * expf(-0.5f * x[i] * x[i]));
    });
  }

 private:
  CudaDevice& device_;
  Port& input_;
  Tensor& output_;
};

}  // namespace

std::unique_ptr<Layer> make_gelu(CudaDevice& device, Port& input, Tensor& output) {
  return std::make_unique<Gelu>(device, input, output);
}

}  // namespace mgcompare::cuda
