#include "cuda/activation_math.h"
#include "cuda/device.h"
#include "cuda/launch.h"

namespace mgcompare::cuda {
namespace {

class ActivationLayer : public Layer {
 public:
  ActivationLayer(CudaDevice& device, Activation activation, Port& input, Tensor& output)
      : device_(device), activation_(activation), input_(input), output_(output) {}

  void forward(const Work& work) override {
    with_activation(activation_, [&](auto chosen) { run<decltype(chosen)::value>(work); });
  }

  void backward(const Work& work) override {
    if (!input_.tensor->needs_gradient) return;
    with_activation(activation_, [&](auto chosen) { run_back<decltype(chosen)::value>(work); });
  }

  template <Activation A> void run(const Work& work) {
    const float* from = input_.tensor->value;
    float* to = output_.value;
    for_each_index(device_.compute_stream(), output_.size(work.samples),
                   [=] __device__(std::size_t i) { to[i] = activated<A>(from[i]); });
  }

  template <Activation A> void run_back(const Work& work) {
    const float* y = output_.value;
    const float* from = output_.gradient;
    float* to = input_.gradient;
    for_each_index(device_.compute_stream(), output_.size(work.samples),
                   [=] __device__(std::size_t i) { to[i] = activation_gradient<A>(y[i], from[i]); });
  }

 private:
  CudaDevice& device_;
  Activation activation_;
  Port& input_;
  Tensor& output_;
};

}  // namespace

std::unique_ptr<Layer> make_activation(CudaDevice& device, Activation activation, Port& input, Tensor& output) {
  return std::make_unique<ActivationLayer>(device, activation, input, output);
}

}  // namespace mgcompare::cuda
