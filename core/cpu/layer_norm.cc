#include "cpu/layer_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace mgcompare {
namespace {

class LayerNorm : public Layer {
 public:
  LayerNorm(const LayerSpec& spec, Port& input, Tensor& output)
      : spec_(spec), input_(input), output_(output), scales_(spec.weights.size()) {
    const bool image = spec.output_shape.size() == 3;
    area_ = image ? output.features / scales_ : 1;
    rows_ = image ? 1 : output.features / scales_;
  }

  void reserve(std::size_t samples) override {
    mean_.resize(samples * rows_);
    inverse_.resize(samples * rows_);
  }

  void forward(const Work& work) override {
    const float* const gamma = work.weights + spec_.weights.begin;
    const float* const beta = work.weights + spec_.bias.begin;
    const float* const x = input_.tensor->value;
    if (output_.blocked) std::fill_n(output_.value, output_.size(work.samples), 0.0f);  // lanes without a sample
    for (std::size_t row = 0; row < work.samples * rows_; ++row) {
      double sum = 0, squares = 0;
      for_each(row, [&](std::size_t i, std::size_t) { sum += x[i]; });
      const double mean = sum / count();
      for_each(row, [&](std::size_t i, std::size_t) { squares += (x[i] - mean) * (x[i] - mean); });
      mean_[row] = mean;
      inverse_[row] = 1 / std::sqrt(squares / count() + spec_.config.epsilon);
      const double inverse = inverse_[row];
      for_each(row, [&](std::size_t i, std::size_t c) {
        output_.value[i] = static_cast<float>((x[i] - mean) * inverse * gamma[c] + beta[c]);
      });
    }
  }

  void backward(const Work& work) override {
    const float* const gamma = work.weights + spec_.weights.begin;
    const float* const x = input_.tensor->value;
    const float* const dy = output_.gradient;
    std::vector<double> totals(2 * scales_, 0.0);  // sums of dy, then of dy * normalised x
    const bool flows = input_.tensor->needs_gradient;
    if (flows && output_.blocked) std::fill_n(input_.gradient, output_.size(work.samples), 0.0f);
    for (std::size_t row = 0; row < work.samples * rows_; ++row) {
      const double mean = mean_[row], inverse = inverse_[row];
      double slopes = 0, products = 0;
      for_each(row, [&](std::size_t i, std::size_t c) {
        const double normal = (x[i] - mean) * inverse, slope = dy[i];
        totals[c] += slope;
        totals[scales_ + c] += slope * normal;
        slopes += slope * gamma[c];
        products += slope * gamma[c] * normal;
      });
      if (!flows) continue;
      for_each(row, [&](std::size_t i, std::size_t c) {
        const double normal = (x[i] - mean) * inverse;
        input_.gradient[i] = static_cast<float>(inverse * (dy[i] * gamma[c] - (slopes + normal * products) / count()));
      });
    }
    for (std::size_t c = 0; c < scales_; ++c) {
      work.gradients[spec_.bias.begin + c] = static_cast<float>(totals[c]);
      work.gradients[spec_.weights.begin + c] = static_cast<float>(totals[scales_ + c]);
    }
  }

 private:
  double count() const { return static_cast<double>(scales_ * area_); }

  // f(element, its scale) for the values that are normalised together: those of sample row / rows_.
  template <class F> void for_each(std::size_t row, F f) const {
    const std::size_t step = output_.blocked ? kLanes : 1;
    std::size_t at = output_.blocked ? row / kLanes * output_.features * kLanes + row % kLanes : row * scales_ * area_;
    for (std::size_t c = 0; c < scales_; ++c) {
      for (std::size_t k = 0; k < area_; ++k, at += step) f(at, c);
    }
  }

  const LayerSpec spec_;
  Port& input_;
  Tensor& output_;
  std::size_t scales_, area_ = 1;   // scales and values of each, in what is normalised together
  std::size_t rows_ = 1;            // of these in a sample: the positions of a sequence
  std::vector<double> mean_, inverse_;
};

}  // namespace

std::unique_ptr<Layer> make_layer_norm(const LayerSpec& spec, Port& input, Tensor& output) {
  return std::make_unique<LayerNorm>(spec, input, output);
}

}  // namespace mgcompare
