#include "cuda/recurrent.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cuda/branch_mark.h"
#include "cuda/device.h"
#include "cuda/recurrent_cells.h"
#include "cuda/recurrent_shape.h"
#include "cuda/recurrent_weights.h"
#include "cuda/transpose.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

class Recurrent : public Layer {
 public:
  Recurrent(CudaDevice& device, std::vector<LayerSpec> layers, Precision precision, Port& input, Tensor& output)
      : device_(device), layers_(std::move(layers)), shape_(layers_.front(), layers_.size()), precision_(precision), input_(input),
        output_(output), element_(input.tensor->format.element), weights_(device, shape_, layers_, element_),
        cells_(device, shape_, element_), prepared_(device), transposed_ready_(device) {
    // The fast kernels for tf32 read both factors along the sum.
    if (precision == Precision::tf32) transposed_ = device_array<std::uint8_t>(device, bytes(shape_.state_matrices() * matrix()));
  }

  void reserve(std::size_t samples) override {
    const auto array = [&](std::size_t elements) { return device_array<std::uint8_t>(device_, bytes(elements)); };
    const std::size_t rows = shape_.positions * samples;
    inputs_ = array(rows * shape_.row);  // zeros, of which swap_axes() never overwrites the padding
    input_products_ = array(rows * std::max(shape_.gate_rows(), shape_.row));
    products_ = array(samples * shape_.product_size());
    states_ = array((shape_.waves() + 1) * samples * shape_.state_size());
    kept_ = array(shape_.waves() * samples * shape_.kept_size());
    if (shape_.type == LayerType::lstm) memory_ = device_array<float>(device_, (shape_.waves() + 1) * samples * shape_.state_size());
    cells_.reserve(samples);
  }

  void prepare(const Work& work) override {
    if (work.samples == 0) return;
    const cudaStream_t branch = device_.fork_branch();
    weights_.load(branch, work.weights);
    prepared_.set(weights_.loaded_bytes());
    if (!work.training || transposed_.empty()) return;
    transpose(branch, {shape_.state_matrices(), shape_.gate_rows(), shape_.width}, weights_.of_states(), element_, transposed_.data(), element_);
    transposed_ready_.set(2 * transposed_.size());
  }

  void forward(const Work& work) override {
    const std::size_t samples = work.samples;
    if (samples == 0) return;
    swap_axes(device_.compute_stream(), element_, samples, shape_.positions, shape_.features, input_.tensor->value, shape_.features,
              inputs_.data(), shape_.row);
    prepared_.join();
    multiply({.a = inputs_.data(), .b = weights_.of_input(), .c = input_products_.data(), .m = shape_.positions * samples, .n = shape_.gate_rows(),
              .k = shape_.row, .transpose_b = true, .factors = element_, .result = element_});
    const RecurrentOutput output{output_.value, returns_sequences()};
    cells_.forward(samples, -1, work.training, arrays(), output);
    for (std::size_t wave = 0; wave < shape_.waves(); ++wave) {
      multiply_states(samples, wave);
      cells_.forward(samples, static_cast<int>(wave), work.training, arrays(), output);
    }
    // The backward pass needs it, but a mark must be joined before later layers join theirs.
    transposed_ready_.join();
  }

  void backward(const Work& work) override {
    if (!begin_recurrent_backward(device_, layers_, work)) return;
    for (std::size_t wave = shape_.waves(); wave-- > 0;) {
      if (wave + 1 < shape_.waves()) multiply_gradients(work.samples, wave);
      cells_.backward(work.samples, static_cast<int>(wave), arrays(), {output_.gradient, returns_sequences()});
    }
    // Layers before this one need only the gradient of the input.
    const cudaStream_t branch = device_.fork_branch();
    backward_weights(branch, work.samples);
    weights_.store_gradients(branch, work.gradients);
    if (input_.tensor->needs_gradient) backward_input(work.samples);
  }

 private:
  bool returns_sequences() const { return layers_.back().config.return_sequences; }
  std::size_t bytes(std::size_t elements) const { return elements * bytes_of(element_); }
  void multiply(const Product& product) const { device_.handles().blas->multiply(product, precision_); }
  RecurrentArrays arrays() const {
    return {input_products_.data(), products_.data(), weights_.biases(), states_.data(), memory_.data(), kept_.data()};
  }
  std::size_t matrix() const { return shape_.gate_rows() * shape_.width; }
  // The state of layer 0 after a wave, -1 for the state before all, and a matrix of what is kept in a wave: 0 for the input of layer 0, 1 for
  // its state, 2 for the input of layer 1 ...
  const std::uint8_t* states_after(std::size_t samples, std::ptrdiff_t wave) const {
    return states_.data() + bytes(static_cast<std::size_t>(wave + 1) * samples * shape_.state_size());
  }
  const std::uint8_t* kept_in(std::size_t samples, std::size_t wave, std::size_t index) const {
    return kept_.data() + bytes(wave * samples * shape_.kept_size() + index * shape_.gate_rows());
  }

  // Products of the states after the wave before: for each layer, the rows of its own state and those of the next layer's input.
  void multiply_states(std::size_t samples, std::size_t wave) const {
    multiply({.a = states_after(samples, static_cast<std::ptrdiff_t>(wave) - 1), .b = weights_.of_states(), .c = products_.data() + bytes(shape_.gate_rows()),
              .m = samples, .n = shape_.state_rows(), .k = shape_.width, .transpose_b = true, .factors = element_, .result = element_,
              .count = shape_.layers, .a_spacing = {shape_.state_size(), shape_.width},
              .b_spacing = {shape_.width, shape_.state_rows() * shape_.width}, .c_spacing = {shape_.product_size(), 2 * shape_.gate_rows()}});
  }

  // And what their gradients add to those of these states: one product for each matrix.
  void multiply_gradients(std::size_t samples, std::size_t wave) const {
    const bool transposed = !transposed_.empty();
    multiply({.a = kept_in(samples, wave + 1, 1), .b = transposed ? transposed_.data() : weights_.of_states(), .c = cells_.slopes(), .m = samples,
              .n = shape_.width, .k = shape_.gate_rows(), .transpose_b = transposed, .factors = element_, .count = shape_.state_matrices(),
              .a_spacing = {shape_.kept_size(), shape_.gate_rows()}, .b_spacing = {transposed ? shape_.gate_rows() : shape_.width, matrix()},
              .c_spacing = {shape_.slope_size(), shape_.width}});
  }

  void backward_weights(cudaStream_t branch, std::size_t samples) const {
    const std::size_t layers = shape_.layers, rows = shape_.positions * samples, state = shape_.state_rows() * shape_.width;
    // From one layer to the next, all are one wave later.
    const Spacing kept{shape_.kept_size(), samples * shape_.kept_size() + 2 * shape_.gate_rows()};
    const Spacing states{shape_.state_size(), samples * shape_.state_size() + shape_.width};
    const auto multiply = [&](const std::uint8_t* a, const std::uint8_t* b, const Spacing& b_spacing, float* to, std::size_t columns, std::size_t count) {
      device_.handles().branch_blas->multiply({.a = a, .b = b, .c = to, .m = shape_.gate_rows(), .n = columns, .k = rows, .transpose_a = true,
                                               .factors = element_, .count = count, .a_spacing = kept, .b_spacing = b_spacing,
                                               .c_spacing = {columns, state}},
                                              precision_);
    };
    multiply(kept_in(samples, 0, 1), states_after(samples, -1), states, weights_.state_gradient(), shape_.width, layers);
    multiply(kept_in(samples, 0, 0), inputs_.data(), {shape_.row, 0}, weights_.input_gradient(), shape_.row, 1);
    if (layers > 1)
      multiply(kept_in(samples, 1, 2), states_after(samples, 0), states, weights_.state_gradient() + matrix(), shape_.width, layers - 1);
    cells_.sum_gradients(branch, samples, weights_.bias_gradient());
  }

  void backward_input(std::size_t samples) const {
    multiply({.a = kept_in(samples, 0, 0), .b = weights_.of_input(), .c = input_products_.data(), .m = shape_.positions * samples, .n = shape_.row,
              .k = shape_.gate_rows(), .factors = element_, .result = element_, .a_spacing = {shape_.kept_size(), 0}});
    swap_axes(device_.compute_stream(), element_, shape_.positions, samples, shape_.features, input_products_.data(), shape_.row, input_.gradient,
              shape_.features);
  }

  CudaDevice& device_;
  const std::vector<LayerSpec> layers_;
  const RecurrentShape shape_;
  const Precision precision_;
  Port& input_;
  Tensor& output_;
  const Element element_;
  RecurrentWeights weights_;
  RecurrentCells cells_;
  BranchMark prepared_, transposed_ready_;
  Array<std::uint8_t> transposed_;      // the matrices of the states, each (unit, gate row); empty: not needed
  // Of the element type:
  Array<std::uint8_t> inputs_;      // (position, sample, feature)
  Array<std::uint8_t> input_products_, products_, states_, kept_;  // as in RecurrentArrays; backward, the first has the inputs' gradients
  Array<float> memory_;
};

}  // namespace

bool begin_recurrent_backward(CudaDevice& device, const std::vector<LayerSpec>& layers, const Work& work) {
  if (work.samples == 0) {
    const std::size_t begin = layers.front().parameters().begin, end = layers.back().parameters().end;
    device.zero(work.gradients + begin, (end - begin) * sizeof(float));
    return false;
  }
  if (!work.training)
    throw Error("layer '" + layers.front().config.name + "' has no gradient of an evaluation pass: begin with a training pass");
  return true;
}

std::unique_ptr<Layer> make_recurrent(CudaDevice& device, std::vector<LayerSpec> layers, Precision precision, Port& input,
                                      Tensor& output) {
  return std::make_unique<Recurrent>(device, std::move(layers), precision, input, output);
}

}  // namespace mgcompare::cuda
