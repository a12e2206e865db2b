#include "cuda/dense.h"

#include <optional>

#include "cuda/bias_activation.h"
#include "cuda/branch_mark.h"
#include "cuda/device.h"
#include "cuda/library/bias.h"
#include "cuda/narrow_dense.h"
#include "cuda/small_dense.h"
#include "cuda/transpose.h"

namespace mgcompare::cuda {
namespace {

bool is_narrow(const LayerSpec& spec, KernelChoice kernels) {
  return kernels == KernelChoice::fused && spec.output_shape.back() <= NarrowDense::kOutputs;
}

class Dense : public Layer {
 public:
  Dense(CudaDevice& device, const LayerSpec& spec, Activation activation, const Numerics& numerics, Port& input,
        Tensor& output)
      : device_(device), spec_(spec), activation_(activation), precision_(numerics.precision), input_(input), output_(output),
        outputs_(spec.output_shape.back()), inputs_(spec.weights.size() / outputs_), rows_(output.features / outputs_),
        factors_(input.tensor->format.element), result_(output.format.element), reorders_(input.tensor->reordered()),
        bias_(numerics.kernels == KernelChoice::library ? library::make_bias(device, outputs_, result_)
                                                   : make_bias(device, outputs_, result_)),
        prepared_(device) {
    if (is_narrow(spec, numerics.kernels)) narrow_.emplace(device, factors_, inputs_, outputs_);
    else if (numerics.kernels == KernelChoice::fused && result_ == factors_ && SmallDense::supports(device, precision_))
      small_.emplace(device, factors_, inputs_, outputs_);
    if (reorders_ || weight_type() != Element::fp32)
      weights_ = device_array<std::uint8_t>(device, spec.weights.size() * bytes_of(weight_type()));
    if (reorders_) weight_gradient_ = device_array<float>(device, spec.weights.size());
  }

  bool overwrites_output_gradient() const override { return activation_ != Activation::none; }
  Activation offers() const override { return activation_; }

  void reserve(std::size_t samples) override {
    bias_->reserve(samples * rows_);
    if (converts_gradient()) gradient_ = device_array<std::uint8_t>(device_, output_.size(samples) * bytes_of(factors_));
  }

  void prepare(const Work& work) override {
    if (weights_.empty() || work.samples == 0 || reads_own_weights(work)) return;
    const float* const from = work.weights + spec_.weights.begin;
    const cudaStream_t branch = device_.fork_branch();
    if (reorders_) transpose(branch, planar(), from, Element::fp32, weights_.data(), weight_type());
    else convert(branch, spec_.weights.size(), from, Element::fp32, weights_.data(), weight_type());
    prepared_.set(spec_.weights.size() * (sizeof(float) + bytes_of(weight_type())));
  }

  void forward(const Work& work) override {
    prepared_.join();
    const float* const bias = spec_.bias.size() == 0 ? nullptr : work.weights + spec_.bias.begin;
    const std::size_t rows = work.samples * rows_;
    if (narrow_) {
      narrow_->forward(activation_, input_.tensor->value, static_cast<const float*>(weights(work)), bias, output_.values(), rows);
      return;
    }
    if (small_ && small_->serves_forward(rows)) {
      small_->forward(activation_, input_.tensor->value, small_weights(work), bias, output_.value, rows);
      return;
    }
    device_.handles().blas->multiply({.a = input_.tensor->value, .b = weights(work), .c = output_.value, .m = rows, .n = outputs_,
                                      .k = inputs_, .transpose_b = true, .factors = factors_, .result = result_},
                                     precision_);
    bias_->add(activation_, bias, output_.value, rows);
  }

  void backward(const Work& work) override {
    float* const weight_gradient = work.gradients + spec_.weights.begin;
    float* const bias = spec_.bias.size() == 0 ? nullptr : work.gradients + spec_.bias.begin;
    const std::size_t rows = work.samples * rows_;
    const bool narrow = narrow_ && rows > 0, small = is_small(rows);
    const Activation activation = output_.differentiated ? Activation::none : activation_;
    bias_->backward(activation, output_.value, output_.gradient, narrow || small ? nullptr : bias, rows);
    const void* gradient = output_.gradient;
    if (converts_gradient()) {
      convert(device_.compute_stream(), rows * outputs_, gradient, result_, gradient_.data(), factors_);
      gradient = gradient_.data();
    }
    // The two gradients are independent, and earlier layers need only the data gradient.
    const bool forks = input_.tensor->needs_gradient || !(narrow || small);
    const cudaStream_t beside = forks ? device_.fork_branch() : device_.compute_stream();
    if (input_.tensor->needs_gradient && work.samples > 0) backward_data(work, gradient);
    float* const to = reorders_ ? weight_gradient_.data() : weight_gradient;
    if (narrow) {
      narrow_->backward_weights(beside, input_.tensor->value, output_.gradients(), to, bias, rows);
    } else if (small) {
      small_->backward_weights(beside, input_.tensor->value, gradient, to, bias, rows);
    } else {
      device_.handles().branch_blas->multiply({.a = gradient, .b = input_.tensor->value, .c = to, .m = outputs_, .n = inputs_,
                                               .k = rows, .transpose_a = true, .factors = factors_},
                                              precision_);
    }
    if (!reorders_) return;
    transpose(beside, planar().transposed(), to, Element::fp32, weight_gradient, Element::fp32);
  }

 private:
  // Narrow products are in float32.
  Element weight_type() const { return narrow_ ? Element::fp32 : factors_; }
  bool converts_gradient() const { return !narrow_ && result_ != factors_; }
  const void* weights(const Work& work) const {
    return weights_.empty() ? static_cast<const void*>(work.weights + spec_.weights.begin) : weights_.data();
  }
  // The weights of a flattened image: of each output, a matrix of channels and pixels.
  Matrices planar() const { return {outputs_, input_.tensor->channels, input_.tensor->pixels()}; }

  bool is_small(std::size_t rows) const { return small_ && small_->serves(rows); }
  // The kernels for few rows convert the weights as they load them.
  bool reads_own_weights(const Work& work) const { return !reorders_ && small_ && small_->serves_forward(work.samples * rows_); }
  SmallDense::Weights small_weights(const Work& work) const {
    if (reads_own_weights(work)) return {work.weights + spec_.weights.begin, Element::fp32};
    return {weights(work), weight_type()};
  }

  void backward_data(const Work& work, const void* gradient) {
    Tensor& input = *input_.tensor;
    const std::size_t rows = work.samples * rows_;
    input.differentiated = input.offered != Activation::none && (narrow_ || is_small(rows));
    if (narrow_) {
      narrow_->backward_data(output_.gradients(), static_cast<const float*>(weights(work)), input.offered, input.value, input_.gradient, rows);
      return;
    }
    if (is_small(rows)) return small_->backward_data(gradient, small_weights(work), input.offered, input.value, input_.gradient, rows);
    device_.handles().blas->multiply({.a = gradient, .b = weights(work), .c = input_.gradient, .m = rows, .n = inputs_, .k = outputs_,
                                      .factors = factors_, .result = factors_},
                                     precision_);
  }

  CudaDevice& device_;
  const LayerSpec spec_;
  const Activation activation_;
  Precision precision_;
  Port& input_;
  Tensor& output_;
  std::size_t outputs_, inputs_;
  std::size_t rows_;                // of a sample: 1, or the positions of a sequence
  const Element factors_, result_;  // of the products
  const bool reorders_;             // the weights, because the input is channels-last
  const std::unique_ptr<Bias> bias_;
  BranchMark prepared_;
  std::optional<NarrowDense> narrow_;
  std::optional<SmallDense> small_;  // for as many rows as it serves
  Array<std::uint8_t> weights_;     // in the order and type of the products; empty: those of the network are used
  Array<float> weight_gradient_;    // in the order of the products
  Array<std::uint8_t> gradient_;    // of the output, in the type of the factors
};

}  // namespace

Element dense_output(const LayerSpec& spec, Element factors, KernelChoice kernels) {
  return is_narrow(spec, kernels) ? Element::fp32 : factors;
}

std::unique_ptr<Layer> make_dense(CudaDevice& device, const LayerSpec& spec, Activation activation, const Numerics& numerics,
                                  Port& input, Tensor& output) {
  return std::make_unique<Dense>(device, spec, activation, numerics, input, output);
}

}  // namespace mgcompare::cuda
