#include "cuda/activation_math.h"
#include "cuda/device.h"
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
    dispatch([&]<class T, Activation A>() {
      map(device_.compute_stream(), output_.size(work.samples), Value<A>(), output_.values<T>(), input_.values<const T>());
    });
  }

  void backward(const Work& work) override {
    if (!input_.tensor->needs_gradient) return;
    dispatch([&]<class T, Activation A>() {
      map(device_.compute_stream(), output_.size(work.samples), Slope<A>(), input_.gradients<T>(), output_.values<const T>(),
          output_.gradients<const T>());
    });
  }

 private:
  template <class F> void dispatch(F f) const {
    with_element(output_.format.element, [&](auto type) {
      with_activation(activation_, [&](auto chosen) { f.template operator()<decltype(type), decltype(chosen)::value>(); });
    });
  }

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
