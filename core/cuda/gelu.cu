#include "cuda/gelu.h"

#include "cuda/device.h"
#include "cuda/pack.h"

namespace mgcompare::cuda {
namespace {

constexpr float kRootOfHalf = 0.70710678f, kPeak = 0.39894228f;  // of the normal density

// The normal distribution function.
__device__ float below(float x) { return 0.5f * erfcf(-x * kRootOfHalf); }

struct Value {
  __device__ float operator()(float x) const { return x * below(x); }
};

struct Slope {
  __device__ float operator()(float x, float slope) const { return slope * (below(x) + x * kPeak * expf(-0.5f * x * x)); }
};

class Gelu : public Layer {
 public:
  Gelu(CudaDevice& device, Port& input, Tensor& output) : device_(device), input_(input), output_(output) {}

  void forward(const Work& work) override {
    with_element(output_.format.element, [&](auto type) {
      using T = decltype(type);
      map(device_.compute_stream(), output_.size(work.samples), Value(), output_.values<T>(), input_.values<const T>());
    });
  }

  void backward(const Work& work) override {
    if (!input_.tensor->needs_gradient) return;
    with_element(output_.format.element, [&](auto type) {
      using T = decltype(type);
      map(device_.compute_stream(), output_.size(work.samples), Slope(), input_.gradients<T>(), input_.values<const T>(),
          output_.gradients<const T>());
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
