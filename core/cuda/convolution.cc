#include "cuda/convolution.h"

#include <algorithm>
#include <optional>
#include <string>

#include "cuda/bias_activation.h"
#include "cuda/branch_mark.h"
#include "cuda/convolution_passes.h"
#include "cuda/device.h"
#include "cuda/dropping.h"
#include "cuda/few_channels.h"
#include "cuda/input_sums.h"
#include "cuda/library/bias.h"
#include "cuda/tiled_pooling.h"
#include "cuda/transpose.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

class Convolution : public Layer {
 public:
  Convolution(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion, std::size_t index, const Numerics& numerics, Port& input,
              Tensor& output)
      : device_(device), spec_(spec), activation_(fusion.activation), input_(input), output_(output),
        element_(output.format.element), precision_(numerics.precision), planar_(spec.input_shapes.front()[0] == 1),
        bias_(numerics.kernels == KernelChoice::library ? library::make_bias(device, spec.output_shape[0], element_)
                                                   : make_bias(device, spec.output_shape[0], element_)),
        passes_(device, spec_, numerics, element_, !planar_, {fusion.pool == nullptr && !planar_ ? bias_.get() : nullptr, activation_}),
        prepared_(device), drawn_(device),
        filter_(device, spec.weights.size() * bytes_of(element_)), filter_gradient_(device, spec.weights.size() * bytes_of(element_)) {
    if (reads_samples(spec, *input.tensor, numerics.kernels)) few_channels_.emplace(device, spec, element_);
    if (fusion.pool == nullptr) return;
    windows_ = {static_cast<unsigned>(spec.output_shape[1]), static_cast<unsigned>(spec.output_shape[2]),
                static_cast<unsigned>(fusion.pool->config.kernel[0]), static_cast<unsigned>(fusion.pool->config.kernel[1])};
    pooling_gradients_ = make_pooling_gradients(device, windows_, element_, channels());
    if (fusion.dropout == nullptr) return;
    rate_ = fusion.dropout->config.rate;
    dropout_ = index + fusion.layers - 1;
  }

  bool overwrites_output_gradient() const override { return activation_ != Activation::none && !pooled(); }
  Activation offers() const override { return activation_; }

  void reserve(std::size_t samples) override {
    bias_->reserve(samples * output_.pixels());
    if (computes_input_sums()) input_sums_ = device_array<float>(device_, 2 * filters().rows);
    if (planar_ && !few_channels_) planes_ = device_array<std::uint8_t>(device_, samples * full_features() * bytes_of(element_));
    if (!pooled()) return;
    full_ = device_array<std::uint8_t>(device_, samples * full_features() * bytes_of(element_));
    choice_ = device_array<std::uint8_t>(device_, output_.size(samples));
  }

  // The filter in cuDNN's order and type, and the mask of dropout.
  void prepare(const Work& work) override {
    if (work.samples == 0) return;
    if (!few_channels_ && !is_in_order(work.weights + spec_.weights.begin)) {
      transpose(device_.fork_branch(), filters(), work.weights + spec_.weights.begin, Element::fp32, filter_.data(), element_);
      prepared_.set(spec_.weights.size() * (sizeof(float) + bytes_of(element_)));
    }
    if (const Dropping dropping = this->dropping(work); dropping.drops()) {
      draw_mask(device_.fork_branch(), dropping, output_, work.samples, choice_.data());
      drawn_.set(output_.size(work.samples));
    }
  }

  void forward(const Work& work) override {
    if (work.samples == 0) return;
    const float* const bias = this->bias(work);
    void* const out = pooled() ? full_.data() : output_.value;
    prepared_.join();
    if (few_channels_) {
      few_channels_->forward(pooled() ? Activation::none : activation_, input_.values(), work.weights + spec_.weights.begin,
                             pooled() ? nullptr : bias, out, work.samples);
    } else {
      passes_.run(ConvolutionPass::forward, work.samples, {input_.tensor->value, filter(work), planar_ ? planes_.data() : out, bias});
      if (planar_) transpose(device_.compute_stream(), planes(work.samples), planes_.data(), element_, out, element_);
      if (planar_ && !pooled()) bias_->add(activation_, bias, out, work.samples * output_.pixels());
    }
    if (!pooled()) return;
    const Dropping dropping = this->dropping(work);
    drawn_.join();
    max_pool(device_, windows_, activation_, element_, out, bias, output_.value, choice_.data(), work.samples, channels(),
             dropping.drops() ? std::optional(dropping.scale()) : std::nullopt);
  }

  void backward(const Work& work) override {
    float* const weight_gradient = work.gradients + spec_.weights.begin;
    float* const bias_gradient = spec_.bias.size() == 0 ? nullptr : work.gradients + spec_.bias.begin;
    const Activation activation = output_.differentiated ? Activation::none : activation_;
    input_.tensor->sums = nullptr;
    const bool all_at_once = few_channels_ && !pooled() && work.samples > 0;
    if (all_at_once) {
      few_channels_->backward(activation, input_.values(), output_.value, output_.gradient, weight_gradient,
                              bias_gradient != nullptr, work.samples);
      return;
    }
    void* gradient = output_.gradient;
    if (pooled() && work.samples > 0) {
      const float scale = dropping(work).scale();
      pooling_gradients_->run(activation, scale, output_.value, gradient, choice_.data(), full_.data(), bias_gradient, work.samples);
      gradient = full_.data();
    } else {
      bias_->backward(activation, output_.value, gradient, bias_gradient, work.samples * output_.pixels());
    }
    if (work.samples == 0) {
      device_.zero(weight_gradient, spec_.weights.size() * sizeof(float));
      return;
    }
    if (few_channels_) {
      few_channels_->backward(Activation::none, input_.values(), nullptr, gradient, weight_gradient, false, work.samples);
      return;
    }
    if (planar_) {
      transpose(device_.compute_stream(), planes(work.samples).transposed(), gradient, element_, planes_.data(), element_);
      gradient = planes_.data();
    }
    const bool in_order = is_in_order(weight_gradient);
    void* const filter_gradient = in_order ? static_cast<void*>(weight_gradient) : filter_gradient_.data();
    const cudaStream_t beside = passes_.run(ConvolutionPass::filter_gradient, work.samples, {input_.tensor->value, filter_gradient, gradient});
    if (!in_order) transpose(beside, filters().transposed(), filter_gradient, element_, weight_gradient, Element::fp32);
    if (computes_input_sums()) {
      input_sums(beside, filters(), element_, work.weights + spec_.weights.begin, weight_gradient, bias_gradient, input_sums_.data());
      input_.tensor->sums = input_sums_.data();
    }
    if (input_.tensor->needs_gradient)
      passes_.run(ConvolutionPass::data_gradient, work.samples, {input_.gradient, filter(work), gradient});
  }

 private:
  bool pooled() const { return windows_.rows > 0; }
  // Not in fp32, where a filter's gradient adds hundreds of thousands of elements in one order, while sums over columns have the error of a
  // tree.
  bool computes_input_sums() const {
    const auto& padding = spec_.config.padding;
    return input_.tensor->wants_sums && precision_ != Precision::fp32 && spec_.bias.size() > 0 && padding[0] == 0 && padding[1] == 0;
  }
  Dropping dropping(const Work& work) const { return {work, rate_, dropout_}; }
  std::size_t channels() const { return spec_.output_shape[0]; }
  std::size_t full_features() const { return channels() * spec_.output_shape[1] * spec_.output_shape[2]; }
  // The weights: of each output, a matrix of inputs and places of the kernel.
  Matrices filters() const {
    const std::size_t inputs = spec_.input_shapes.front()[0];
    return {channels(), inputs, spec_.weights.size() / channels() / inputs};
  }

  const float* bias(const Work& work) const { return spec_.bias.size() == 0 ? nullptr : work.weights + spec_.bias.begin; }
  // Whether weights or their gradients are as cuDNN wants them: kernels of one place or of one input are in either order.
  bool is_in_order(const float* weights) const {
    return element_ == Element::fp32 && (filters().rows == 1 || filters().columns == 1) && reinterpret_cast<std::uintptr_t>(weights) % 16 == 0;
  }
  // cuDNN only reads it.
  void* filter(const Work& work) {
    const float* const weights = work.weights + spec_.weights.begin;
    return is_in_order(weights) ? const_cast<float*>(weights) : static_cast<void*>(filter_.data());
  }

  // The output in planar order.
  Matrices planes(std::size_t samples) const { return {samples, channels(), full_features() / channels()}; }

  CudaDevice& device_;
  const LayerSpec spec_;
  const Activation activation_;
  Port& input_;
  Tensor& output_;
  const Element element_;
  const Precision precision_;
  // For one channel cuDNN (9.14) cannot tell the orders apart, and returns wrong results if the output is channels-last.
  const bool planar_;
  const std::unique_ptr<Bias> bias_;
  PoolingWindows windows_;
  std::unique_ptr<PoolingGradients> pooling_gradients_;
  double rate_ = 0;                 // of dropout after the pooling
  std::size_t dropout_ = 0;         // that layer's index
  std::optional<FewChannels> few_channels_;
  ConvolutionPasses passes_;
  BranchMark prepared_, drawn_;     // the filter, and the mask
  Array<std::uint8_t> filter_, filter_gradient_;  // of the last forward pass, in cuDNN's order and type
  Array<float> input_sums_;
  Array<std::uint8_t> full_;        // the convolution's output before pooling; in the backward pass its gradient
  Array<std::uint8_t> planes_;      // the output or its gradient in planar order
  Array<std::uint8_t> choice_;      // of each window the place of its maximum; before, whether dropout keeps it
};

}  // namespace

bool reads_samples(const LayerSpec& spec, const Tensor& input, KernelChoice kernels) {
  return kernels == KernelChoice::fused && !input.needs_gradient && FewChannels::serves(spec);
}

std::unique_ptr<Layer> make_convolution(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion, std::size_t index,
                                        const Numerics& numerics, Port& input, Tensor& output) {
  return std::make_unique<Convolution>(device, spec, fusion, index, numerics, input, output);
}

}  // namespace mgcompare::cuda
