#include "dense.h"

#include "bias.h"
#include "device.h"
#include "narrow_dense.h"

namespace mgcompare::cuda {
namespace {

class Dense : public Layer {
 public:
  Dense(CudaDevice& device, const LayerSpec& spec, Activation activation, Precision precision, Port& input,
        Tensor& output)
      : device_(device), spec_(spec), activation_(activation), precision_(precision), input_(input), output_(output),
        bias_sums_(device, output.features) {}

  bool spoils_gradient() const override { return activation_ != Activation::none; }

  void forward(const Work& work) override {
    const float* const bias = spec_.bias.size() == 0 ? nullptr : work.weights + spec_.bias.begin;
    if (output_.features <= kNarrow) {
      narrow_forward(device_, activation_, input_.tensor->value, work.weights + spec_.weights.begin, bias, output_.value,
                     work.samples, input_.tensor->features, output_.features);
      return;
    }
    device_.handles().blas->multiply({input_.tensor->value, work.weights + spec_.weights.begin, output_.value,
                                      work.samples, output_.features, input_.tensor->features, false, true},
                                     precision_);
    add_bias(device_, activation_, bias, output_.value, work.samples, output_.features, 1);
  }

  void backward(const Work& work) override {
    float* const gradient = output_.gradient;
    float* const bias = spec_.bias.size() == 0 ? nullptr : work.gradients + spec_.bias.begin;
    bias_sums_.backward(activation_, output_.value, gradient, bias, work.samples, 1);
    const bool both = input_.tensor->wanted && work.samples > 0;
    // The two products need nothing of each other.
    if (both) device_.fork_branch();
    Blas& blas = *(both ? device_.handles().branch_blas : device_.handles().blas);
    blas.multiply({gradient, input_.tensor->value, work.gradients + spec_.weights.begin, output_.features,
                   input_.tensor->features, work.samples, true, false},
                  precision_);
    if (!both) return;
    device_.handles().blas->multiply({gradient, work.weights + spec_.weights.begin, input_.gradient, work.samples,
                                      input_.tensor->features, output_.features},
                                     precision_);
    device_.join_branch();
  }

 private:
  CudaDevice& device_;
  const LayerSpec spec_;
  Activation activation_;
  Precision precision_;
  Port& input_;
  Tensor& output_;
  ChannelSums bias_sums_;
};

}  // namespace

std::unique_ptr<Layer> make_dense(CudaDevice& device, const LayerSpec& spec, Activation activation, Precision precision,
                                  Port& input, Tensor& output) {
  return std::make_unique<Dense>(device, spec, activation, precision, input, output);
}

}  // namespace mgcompare::cuda
