#include "cuda/library/batch_norm.h"

#include "cuda/batch_norm.h"
#include "cuda/device.h"
#include "cuda/library/tensor.h"

namespace mgcompare::cuda::library {
namespace {

constexpr char kWhat[] = "normalising a batch";

class BatchNorm : public Layer {
 public:
  BatchNorm(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output)
      : device_(device), spec_(spec), input_(input), output_(output), channels_(spec.input_shapes.front()[0]),
        mean_(device, channels_), inverse_(device, channels_), batch_mean_(device, channels_), batch_variance_(device, channels_) {}

  void synchronize(const std::function<void(Vec)>& all_reduce) override {
    synchronized_ = all_reduce ? cuda::make_batch_norm(device_, spec_, {}, Activation::none, {&input_}, output_) : nullptr;
    if (synchronized_) synchronized_->synchronize(all_reduce);
  }

  // cuDNN computes the gradient of the input even if no layer before this one learns.
  void reserve(std::size_t samples) override {
    if (!input_.tensor->needs_gradient) unused_ = device_array<std::uint8_t>(device_, input_.tensor->bytes(samples));
  }

  void forward(const Work& work) override {
    if (synchronized_) return synchronized_->forward(work);
    if (work.samples == 0) return;
    const float one = 1, zero = 0;
    float* const running = work.buffers + spec_.buffers.begin;
    const cudnnTensorDescriptor_t images = images_.of(sizes(work), output_.format.element, true), channels = this->channels();
    const float *const gamma = work.weights + spec_.weights.begin, *const beta = work.weights + spec_.bias.begin;
    if (!work.training) {
      check(cudnnBatchNormalizationForwardInference(device_.handles().cudnn, CUDNN_BATCHNORM_SPATIAL, &one, &zero, images,
                                                    input_.tensor->value, images, output_.value, channels, gamma, beta, running,
                                                    running + channels_, spec_.config.epsilon),
            kWhat);
      return;
    }
    check(cudnnBatchNormalizationForwardTraining(device_.handles().cudnn, CUDNN_BATCHNORM_SPATIAL, &one, &zero, images,
                                                 input_.tensor->value, images, output_.value, channels, gamma, beta, 1,
                                                 batch_mean_.data(), batch_variance_.data(), spec_.config.epsilon, mean_.data(),
                                                 inverse_.data()),
          kWhat);
    // cuDNN's variance is the unbiased one, which a single row does not have: it is 0 / 0.
    const double rows = static_cast<double>(work.samples * pixels());
    if (rows == 1) device_.zero(batch_variance_.data(), channels_ * sizeof(float));
    follow(batch_mean_, 1, running);
    follow(batch_variance_, (rows - 1) / rows, running + channels_);
  }

  void backward(const Work& work) override {
    if (synchronized_) return synchronized_->backward(work);
    float *const gamma = work.gradients + spec_.weights.begin, *const beta = work.gradients + spec_.bias.begin;
    if (work.samples == 0) {
      device_.zero(gamma, channels_ * sizeof(float));
      device_.zero(beta, channels_ * sizeof(float));
      return;
    }
    if (!work.training)
      throw Error("layer '" + spec_.config.name + "' has no gradient of an evaluation pass with `kernels: library`: begin with a training pass");
    const float one = 1, zero = 0;
    const cudnnTensorDescriptor_t images = images_.of(sizes(work), output_.format.element, true);
    check(cudnnBatchNormalizationBackward(device_.handles().cudnn, CUDNN_BATCHNORM_SPATIAL, &one, &zero, &one, &zero, images,
                                          input_.tensor->value, images, output_.gradient, images,
                                          unused_.empty() ? input_.gradient : unused_.data(), channels(),
                                          work.weights + spec_.weights.begin, gamma, beta, spec_.config.epsilon, mean_.data(),
                                          inverse_.data()),
          kWhat);
  }

 private:
  std::size_t pixels() const { return output_.features / channels_; }
  Sizes sizes(const Work& work) const { return {work.samples, channels_, pixels(), 1}; }
  cudnnTensorDescriptor_t channels() { return channel_.of({1, channels_}, Element::fp32); }

  // running = momentum * running + (1 - momentum) * scale * batch
  void follow(const Array<float>& batch, double scale, float* running) {
    const auto keep = static_cast<float>(spec_.config.momentum), take = static_cast<float>((1 - spec_.config.momentum) * scale);
    const cudnnTensorDescriptor_t shape = channels();
    check(cudnnAddTensor(device_.handles().cudnn, &take, shape, batch.data(), &keep, shape, running), kWhat);
  }

  CudaDevice& device_;
  const LayerSpec spec_;
  Port& input_;
  Tensor& output_;
  const std::size_t channels_;
  Array<float> mean_, inverse_;              // of the last training pass, for its backward pass
  Array<float> batch_mean_, batch_variance_;
  Array<std::uint8_t> unused_;
  Tensor4d images_, channel_;
  std::unique_ptr<Layer> synchronized_;
};

}  // namespace

std::unique_ptr<Layer> make_batch_norm(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output) {
  return std::make_unique<BatchNorm>(device, spec, input, output);
}

}  // namespace mgcompare::cuda::library
