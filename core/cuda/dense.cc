#include "cuda/dense.h"

#include <optional>

#include "cuda/bias_activation.h"
#include "cuda/device.h"
#include "cuda/narrow_dense.h"

namespace mgcompare::cuda {
namespace {

class Dense : public Layer {
 public:
  Dense(CudaDevice& device, const LayerSpec& spec, Activation activation, Precision precision, Port& input,
        Tensor& output)
      : device_(device), spec_(spec), activation_(activation), precision_(precision), input_(input), output_(output),
        outputs_(spec.output_shape.back()), inputs_(spec.weights.size() / outputs_), rows_(output.features / outputs_),
        bias_gradient_(device, outputs_) {
    if (outputs_ <= NarrowDense::kOutputs) narrow_.emplace(device, inputs_, outputs_);
  }

  bool overwrites_output_gradient() const override { return activation_ != Activation::none; }

  void forward(const Work& work) override {
    const float* const weights = work.weights + spec_.weights.begin;
    const float* const bias = spec_.bias.size() == 0 ? nullptr : work.weights + spec_.bias.begin;
    const std::size_t rows = work.samples * rows_;
    if (narrow_) {
      narrow_->forward(activation_, input_.tensor->value, weights, bias, output_.value, rows);
      return;
    }
    device_.handles().blas->multiply({input_.tensor->value, weights, output_.value, rows, outputs_, inputs_, false, true},
                                     precision_);
    add_bias(device_, activation_, bias, output_.value, rows, outputs_, 1);
  }

  void backward(const Work& work) override {
    float* const gradient = output_.gradient;
    float* const weights = work.gradients + spec_.weights.begin;
    float* const bias = spec_.bias.size() == 0 ? nullptr : work.gradients + spec_.bias.begin;
    const std::size_t rows = work.samples * rows_;
    const bool narrow = narrow_ && rows > 0;
    bias_gradient_.backward(activation_, output_.value, gradient, narrow ? nullptr : bias, rows, 1);
    const cudaStream_t beside = device_.fork_branch();
    // The two gradients are independent, and earlier layers need only the data gradient.
    if (input_.tensor->needs_gradient && work.samples > 0) backward_data(work);
    if (narrow) {
      narrow_->backward_weights(beside, input_.tensor->value, gradient, weights, bias, rows);
    } else {
      device_.handles().branch_blas->multiply({gradient, input_.tensor->value, weights, outputs_, inputs_, rows, true, false},
                                              precision_);
    }
  }

 private:
  void backward_data(const Work& work) {
    const float* const weights = work.weights + spec_.weights.begin;
    if (narrow_) {
      narrow_->backward_data(output_.gradient, weights, input_.gradient, work.samples * rows_);
      return;
    }
    device_.handles().blas->multiply({output_.gradient, weights, input_.gradient, work.samples * rows_, inputs_, outputs_},
                                     precision_);
  }

  CudaDevice& device_;
  const LayerSpec spec_;
  Activation activation_;
  Precision precision_;
  Port& input_;
  Tensor& output_;
  std::size_t outputs_, inputs_;
  std::size_t rows_;                // of a sample: 1, or the positions of a sequence
  BiasGradient bias_gradient_;
  std::optional<NarrowDense> narrow_;
};

}  // namespace

std::unique_ptr<Layer> make_dense(CudaDevice& device, const LayerSpec& spec, Activation activation, Precision precision,
                                  Port& input, Tensor& output) {
  return std::make_unique<Dense>(device, spec, activation, precision, input, output);
}

}  // namespace mgcompare::cuda
