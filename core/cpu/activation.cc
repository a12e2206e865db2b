#include "cpu/activation.h"

#include <cstring>

namespace mgcompare {
namespace {

class ActivationLayer : public Layer {
 public:
  ActivationLayer(Activation activation, Port& input, Tensor& output)
      : activation_(activation), input_(input), output_(output) {}

  void forward(const Work& work) override {
    const std::size_t size = output_.size(work.samples);
    std::memcpy(output_.value, input_.tensor->value, size * sizeof(float));
    kernels().activate(activation_, output_.value, size);
  }

  void backward(const Work& work) override {
    if (!input_.tensor->needs_gradient) return;
    kernels().activate_back(activation_, output_.value, output_.gradient, input_.gradient, output_.size(work.samples));
  }

 private:
  Activation activation_;
  Port& input_;
  Tensor& output_;
};

}  // namespace

std::unique_ptr<Layer> make_activation(Activation activation, Port& input, Tensor& output) {
  return std::make_unique<ActivationLayer>(activation, input, output);
}

}  // namespace mgcompare
