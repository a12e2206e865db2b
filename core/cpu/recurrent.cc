#include "cpu/recurrent.h"

#include <algorithm>
#include <cstring>

namespace mgcompare {
namespace {

// Inside the layer, arrays are (time, sample, feature): the samples of one position are a matrix.
class Recurrent : public Layer {
 public:
  Recurrent(Device& device, const LayerSpec& spec, std::unique_ptr<RecurrentCell> cell, Port& input, Tensor& output)
      : device_(device), spec_(spec), cell_(std::move(cell)), input_(input), output_(output),
        positions_(spec.input_shapes.front()[0]), features_(spec.input_shapes.front()[1]), units_(spec.config.channels),
        width_(spec.bias.size()) {}

  void reserve(std::size_t samples) override {
    const std::size_t rows = positions_ * samples;
    inputs_ = device_array<float>(device_, rows * features_);
    states_ = device_array<float>(device_, (rows + samples) * units_);
    gates_ = device_array<float>(device_, rows * width_);
    if (cell_->keeps_products_apart()) recurrent_ = device_array<float>(device_, rows * width_);
    gradient_ = device_array<float>(device_, samples * units_);
    cell_->reserve(samples, positions_);
  }

  void forward(const Work& work) override {
    const std::size_t samples = work.samples;
    if (samples == 0) return;
    to_positions(input_.tensor->value, inputs_.data(), samples, features_);
    const float* const bias = work.weights + spec_.bias.begin;
    const float* const recurrent_bias = work.weights + spec_.recurrent_bias.begin;
    device_.matmul({inputs_.data(), work.weights + spec_.weights.begin, gates_.data(), positions_ * samples, width_, features_,
                    false, true});
    kernels().add_bias(Activation::none, bias, gates_.data(), positions_ * samples, width_);
    std::fill_n(states_.data(), samples * units_, 0.0f);
    const bool apart = cell_->keeps_products_apart();
    for (std::size_t position = 0; position < positions_; ++position) {
      const RecurrentStep step = this->step(samples, position);
      device_.matmul({step.previous, work.weights + spec_.recurrent.begin, step.recurrent, samples, width_, units_, false, true,
                      1, apart ? 0.0f : 1.0f});
      kernels().add_bias(Activation::none, recurrent_bias, step.recurrent, samples, width_);
      cell_->forward(step);
    }
    if (spec_.config.return_sequences) {
      to_samples(states_.data() + samples * units_, output_.value, samples, units_);
    } else {
      std::memcpy(output_.value, states_.data() + positions_ * samples * units_, samples * units_ * sizeof(float));
    }
  }

  void backward(const Work& work) override {
    const std::size_t samples = work.samples, rows = positions_ * samples;
    if (samples == 0) {
      const Range parameters = spec_.parameters();
      std::fill_n(work.gradients + parameters.begin, parameters.size(), 0.0f);
      return;
    }
    std::fill_n(gradient_.data(), samples * units_, 0.0f);
    for (std::size_t position = positions_; position-- > 0;) {
      add_output_gradient(samples, position);
      const RecurrentStep step = this->step(samples, position);
      cell_->backward(step);
      if (position == 0) break;
      device_.matmul({step.recurrent, work.weights + spec_.recurrent.begin, gradient_.data(), samples, units_, width_, false,
                      false, 1, 1});
    }
    const float* const recurrent = cell_->keeps_products_apart() ? recurrent_.data() : gates_.data();
    float* const to = work.gradients;
    device_.matmul({gates_.data(), inputs_.data(), to + spec_.weights.begin, width_, features_, rows, true, false});
    device_.matmul({recurrent, states_.data(), to + spec_.recurrent.begin, width_, units_, rows, true, false});
    kernels().sum_rows(gates_.data(), rows, width_, to + spec_.bias.begin);
    kernels().sum_rows(recurrent, rows, width_, to + spec_.recurrent_bias.begin);
    if (!input_.tensor->needs_gradient) return;
    // The inputs are no longer needed: their array holds their gradient.
    device_.matmul({gates_.data(), work.weights + spec_.weights.begin, inputs_.data(), rows, features_, width_});
    to_samples(inputs_.data(), input_.gradient, samples, features_);
  }

 private:
  RecurrentStep step(std::size_t samples, std::size_t position) const {
    const std::size_t state = samples * units_, gates = samples * width_;
    float* const products = cell_->keeps_products_apart() ? recurrent_.data() : gates_.data();
    return {samples, units_, position, position + 1 == positions_, states_.data() + position * state,
            states_.data() + (position + 1) * state, gates_.data() + position * gates, products + position * gates,
            gradient_.data()};
  }

  // From (sample, time, size) to (time, sample, size), and back.
  void to_positions(const float* from, float* to, std::size_t samples, std::size_t size) const {
    for (std::size_t row = 0; row < samples * positions_; ++row)
      std::memcpy(to + row * size, from + (row % samples * positions_ + row / samples) * size, size * sizeof(float));
  }
  void to_samples(const float* from, float* to, std::size_t samples, std::size_t size) const {
    for (std::size_t row = 0; row < samples * positions_; ++row)
      std::memcpy(to + row * size, from + (row % positions_ * samples + row / positions_) * size, size * sizeof(float));
  }

  void add_output_gradient(std::size_t samples, std::size_t position) const {
    const bool all = spec_.config.return_sequences;
    if (!all && position + 1 != positions_) return;
    for (std::size_t sample = 0; sample < samples; ++sample) {
      const float* const from = output_.gradient + (all ? sample * positions_ + position : sample) * units_;
      float* const to = gradient_.data() + sample * units_;
      for (std::size_t unit = 0; unit < units_; ++unit) to[unit] += from[unit];
    }
  }

  Device& device_;
  const LayerSpec spec_;
  std::unique_ptr<RecurrentCell> cell_;
  Port& input_;
  Tensor& output_;
  std::size_t positions_, features_, units_, width_;  // width: gates x units
  Array<float> inputs_;
  Array<float> states_;             // one position more than the sequence: the first is zero
  Array<float> gates_, recurrent_;
  Array<float> gradient_;
};

}  // namespace

std::unique_ptr<Layer> make_recurrent(Device& device, const LayerSpec& spec, std::unique_ptr<RecurrentCell> cell, Port& input,
                                      Tensor& output) {
  return std::make_unique<Recurrent>(device, spec, std::move(cell), input, output);
}

}  // namespace mgcompare
