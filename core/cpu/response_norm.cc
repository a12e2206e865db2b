#include "cpu/response_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace mgcompare {
namespace {

class ResponseNorm : public Layer {
 public:
  ResponseNorm(Device& device, const LayerSpec& spec, Port& input, Tensor& output)
      : device_(device), config_(spec.config), input_(input), output_(output), channels_(spec.output_shape[0]),
        plane_(output.features / channels_ * (output.blocked ? kLanes : 1)), sums_(plane_) {}

  void reserve(std::size_t samples) override { base_ = Array<float>(device_, output_.size(samples)); }

  void forward(const Work& work) override {
    const auto alpha = static_cast<float>(config_.alpha), offset = static_cast<float>(config_.offset);
    const auto exponent = static_cast<float>(-config_.beta);
    for_each_group(work, [&](std::size_t group) {
      const float* const x = input_.tensor->value + group;
      for (std::size_t c = 0; c < channels_; ++c) {
        sum_neighbours(c, [&](std::size_t k, std::size_t i) { return x[k * plane_ + i] * x[k * plane_ + i]; });
        for (std::size_t i = 0, at = c * plane_; i < plane_; ++i, ++at) {
          base_[group + at] = offset + alpha * sums_[i];
          output_.value[group + at] = x[at] * std::pow(base_[group + at], exponent);
        }
      }
    });
  }

  void backward(const Work& work) override {
    if (!input_.tensor->needs_gradient) return;
    const auto exponent = static_cast<float>(-config_.beta), factor = static_cast<float>(-2 * config_.alpha * config_.beta);
    for_each_group(work, [&](std::size_t group) {
      const float* const x = input_.tensor->value + group;
      const float* const y = output_.value + group;
      const float* const dy = output_.gradient + group;
      const float* const base = base_.data() + group;
      for (std::size_t c = 0; c < channels_; ++c) {
        sum_neighbours(c, [&](std::size_t k, std::size_t i) {
          return dy[k * plane_ + i] * y[k * plane_ + i] / base[k * plane_ + i];
        });
        for (std::size_t i = 0, at = c * plane_; i < plane_; ++i, ++at)
          input_.gradient[group + at] = dy[at] * std::pow(base[at], exponent) + factor * x[at] * sums_[i];
      }
    });
  }

 private:
  // f(first element) for each block of samples or sample.
  template <class F> void for_each_group(const Work& work, F f) const {
    const std::size_t size = channels_ * plane_;
    for (std::size_t group = 0; group < output_.size(work.samples); group += size) f(group);
  }

  // sums_[i] = sum of term(channel, i) over the channels at most radius away from channel c.
  template <class Term> void sum_neighbours(std::size_t c, Term term) {
    std::fill(sums_.begin(), sums_.end(), 0.0f);
    const std::size_t end = std::min(channels_, c + config_.radius + 1);
    for (std::size_t k = c - std::min(c, config_.radius); k < end; ++k) {
      for (std::size_t i = 0; i < plane_; ++i) sums_[i] += term(k, i);
    }
  }

  Device& device_;
  const LayerConfig config_;
  Port& input_;
  Tensor& output_;
  std::size_t channels_, plane_;    // values of a channel, with the lanes
  std::vector<float> sums_;
  Array<float> base_;               // what is raised to the power
};

}  // namespace

std::unique_ptr<Layer> make_response_norm(Device& device, const LayerSpec& spec, Port& input, Tensor& output) {
  return std::make_unique<ResponseNorm>(device, spec, input, output);
}

}  // namespace mgcompare
