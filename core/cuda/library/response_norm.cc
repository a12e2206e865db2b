#include "cuda/library/response_norm.h"

#include "cuda/device.h"
#include "cuda/library/tensor.h"

namespace mgcompare::cuda::library {
namespace {

constexpr char kWhat[] = "normalising a local response";

std::size_t window(const LayerSpec& spec) { return 2 * spec.config.radius + 1; }

class ResponseNorm : public Layer {
 public:
  ResponseNorm(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output)
      : device_(device), shape_(spec.output_shape), input_(input), output_(output) {
    check(cudnnCreateLRNDescriptor(&norm_), kWhat);
    // cuDNN divides alpha by the window's size.
    check(cudnnSetLRNDescriptor(norm_, static_cast<unsigned>(window(spec)), spec.config.alpha * static_cast<double>(window(spec)),
                                spec.config.beta, spec.config.offset),
          kWhat);
  }
  ~ResponseNorm() override { cudnnDestroyLRNDescriptor(norm_); }

  void forward(const Work& work) override {
    if (work.samples == 0) return;
    const float one = 1, zero = 0;
    const cudnnTensorDescriptor_t shape = this->shape(work);
    check(cudnnLRNCrossChannelForward(device_.handles().cudnn, norm_, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, shape, input_.tensor->value,
                                      &zero, shape, output_.value),
          kWhat);
  }

  void backward(const Work& work) override {
    if (work.samples == 0 || !input_.tensor->needs_gradient) return;
    const float one = 1, zero = 0;
    const cudnnTensorDescriptor_t shape = this->shape(work);
    check(cudnnLRNCrossChannelBackward(device_.handles().cudnn, norm_, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, shape, output_.value, shape,
                                       output_.gradient, shape, input_.tensor->value, &zero, shape, input_.gradient),
          kWhat);
  }

 private:
  cudnnTensorDescriptor_t shape(const Work& work) {
    return tensor_.of({work.samples, shape_[0], shape_[1], shape_[2]}, Element::fp32);
  }

  CudaDevice& device_;
  const Shape shape_;
  Port& input_;
  Tensor& output_;
  cudnnLRNDescriptor_t norm_ = nullptr;
  Tensor4d tensor_;
};

}  // namespace

bool normalizes(const LayerSpec& spec) {
  return window(spec) <= CUDNN_LRN_MAX_N && spec.config.offset >= CUDNN_LRN_MIN_K && spec.config.beta >= CUDNN_LRN_MIN_BETA;
}

std::unique_ptr<Layer> make_response_norm(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output) {
  return std::make_unique<ResponseNorm>(device, spec, input, output);
}

}  // namespace mgcompare::cuda::library
