#include "cuda/activation_math.h"
#include "cuda/device.h"
#include "cuda/merge.h"
#include "cuda/pack.h"

namespace mgcompare::cuda {
namespace {

template <Activation A> struct Value {
  __device__ float operator()(float x) const { return activated<A>(x); }
};

template <Activation A> struct Slope {
  __device__ float operator()(float y, float slope) const { return activation_gradient<A>(y, slope); }
};

class ActivationLayer : public Layer {
 public:
  ActivationLayer(CudaDevice& device, Activation activation, Port& input, Tensor& output)
      : device_(device), activation_(activation), input_(input), output_(output) {}

  void forward(const Work& work) override {
    activate(device_, activation_, output_.format.element, input_.tensor->value, output_.value, output_.size(work.samples));
  }

  Activation derivative() const override { return activation_; }
  bool passes_gradient(std::size_t) const override { return output_.own_derivative(activation_) == Activation::none; }

  void backward(const Work& work) override {
    if (!input_.tensor->needs_gradient) return;
    const std::size_t size = output_.size(work.samples);
    const Element element = output_.format.element;
    if (passes_gradient(0)) copy_vector(device_, element, input_.gradient, output_.gradient, size);
    else activate_backward(device_, activation_, element, output_.value, output_.gradient, input_.gradient, size);
  }

 private:
  CudaDevice& device_;
  Activation activation_;
  Port& input_;
  Tensor& output_;
};

}  // namespace

void activate(CudaDevice& device, Activation activation, Element element, const void* x, void* y, std::size_t size) {
  with_element(element, [&](auto type) {
    with_activation(activation, [&](auto chosen) {
      using T = decltype(type);
      map(device.compute_stream(), size, Value<decltype(chosen)::value>(), static_cast<T*>(y), static_cast<const T*>(x));
    });
  });
}

void activate_backward(CudaDevice& device, Activation activation, Element element, const void* y, const void* gradient, void* to,
                       std::size_t size) {
  with_element(element, [&](auto type) {
    with_activation(activation, [&](auto chosen) {
      using T = decltype(type);
      map(device.compute_stream(), size, Slope<decltype(chosen)::value>(), static_cast<T*>(to), static_cast<const T*>(y),
          static_cast<const T*>(gradient));
    });
  });
}

std::unique_ptr<Layer> make_activation(CudaDevice& device, Activation activation, Port& input, Tensor& output) {
  return std::make_unique<ActivationLayer>(device, activation, input, output);
}

}  // namespace mgcompare::cuda
