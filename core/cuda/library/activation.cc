#include "cuda/library/activation.h"

#include "cuda/device.h"
#include "cuda/library/tensor.h"

namespace mgcompare::cuda::library {
namespace {

constexpr char kWhat[] = "computing an activation";

cudnnActivationMode_t mode_of(Activation activation) {
  switch (activation) {
    case Activation::tanh: return CUDNN_ACTIVATION_TANH;
    case Activation::relu: return CUDNN_ACTIVATION_RELU;
    case Activation::sigmoid: return CUDNN_ACTIVATION_SIGMOID;
    case Activation::none: break;
  }
  return CUDNN_ACTIVATION_IDENTITY;
}

class ActivationLayer : public Layer {
 public:
  ActivationLayer(CudaDevice& device, Activation activation, Port& input, Tensor& output)
      : device_(device), input_(input), output_(output) {
    check(cudnnCreateActivationDescriptor(&activation_), kWhat);
    check(cudnnSetActivationDescriptor(activation_, mode_of(activation), CUDNN_PROPAGATE_NAN, 0), kWhat);
  }
  ~ActivationLayer() override { cudnnDestroyActivationDescriptor(activation_); }

  void forward(const Work& work) override {
    if (work.samples == 0) return;
    const float one = 1, zero = 0;
    const cudnnTensorDescriptor_t shape = this->shape(work);
    check(cudnnActivationForward(device_.handles().cudnn, activation_, &one, shape, input_.tensor->value, &zero, shape, output_.value),
          kWhat);
  }

  void backward(const Work& work) override {
    if (work.samples == 0 || !input_.tensor->needs_gradient) return;
    const float one = 1, zero = 0;
    const cudnnTensorDescriptor_t shape = this->shape(work);
    check(cudnnActivationBackward(device_.handles().cudnn, activation_, &one, shape, output_.value, shape, output_.gradient, shape,
                                  input_.tensor->value, &zero, shape, input_.gradient),
          kWhat);
  }

 private:
  cudnnTensorDescriptor_t shape(const Work& work) {
    return tensor_.of({work.samples, output_.features}, output_.format.element);
  }

  CudaDevice& device_;
  Port& input_;
  Tensor& output_;
  cudnnActivationDescriptor_t activation_ = nullptr;
  Tensor4d tensor_;
};

}  // namespace

std::unique_ptr<Layer> make_activation(CudaDevice& device, Activation activation, Port& input, Tensor& output) {
  return std::make_unique<ActivationLayer>(device, activation, input, output);
}

}  // namespace mgcompare::cuda::library
