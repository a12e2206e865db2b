#include "cpu/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mgcompare {
namespace {

class BatchNorm : public Layer {
 public:
  BatchNorm(Device& device, const LayerSpec& spec, Port& input, Tensor& output)
      : spec_(spec), input_(input), output_(output), channels_(output.shape[0]), area_(output.features / channels_),
        mean_(channels_), inverse_(channels_), sums_(device, 2 * channels_ + 1) {}

  void synchronize(const std::function<void(Vec)>& all_reduce) override { all_reduce_ = all_reduce; }

  void forward(const Work& work) override {
    if (work.training) {
      measure(work);
      if (count_ > 0) move_running(work.buffers + spec_.buffers.begin);
    } else {
      take_running(work.buffers + spec_.buffers.begin);
    }
    const float* const gamma = work.weights + spec_.weights.begin;
    const float* const beta = work.weights + spec_.bias.begin;
    for_each_run(work.samples, [&](std::size_t c, std::size_t at, std::size_t size, std::size_t) {
      const auto scale = static_cast<float>(gamma[c] * inverse_[c]);
      const auto shift = static_cast<float>(beta[c] - mean_[c] * gamma[c] * inverse_[c]);
      const float* const x = input_.tensor->value + at;
      float* const y = output_.value + at;
      for (std::size_t i = 0; i < size; ++i) y[i] = x[i] * scale + shift;
    });
  }

  void backward(const Work& work) override {
    // Sums of dy, then of dy * normalised x. Lanes without a sample have a gradient of zero.
    std::vector<double> totals(2 * channels_, 0.0);
    for_each_run(work.samples, [&](std::size_t c, std::size_t at, std::size_t size, std::size_t) {
      const float* const x = input_.tensor->value + at;
      const float* const dy = output_.gradient + at;
      const auto mean = static_cast<float>(mean_[c]);
      double sums[kLanes] = {}, products[kLanes] = {};
      if (output_.blocked) {
        kernels().sum_products(dy, x, area_, mean, sums, products);
      } else {
        for (std::size_t i = 0; i < size; ++i) {
          sums[i % kLanes] += dy[i];
          products[i % kLanes] += dy[i] * (x[i] - mean);
        }
      }
      totals[c] += std::accumulate(sums, sums + kLanes, 0.0);
      totals[channels_ + c] += std::accumulate(products, products + kLanes, 0.0) * inverse_[c];
    });
    for (std::size_t c = 0; c < channels_; ++c) {
      work.gradients[spec_.bias.begin + c] = static_cast<float>(totals[c]);
      work.gradients[spec_.weights.begin + c] = static_cast<float>(totals[channels_ + c]);
    }
    if (work.training && all_reduce_) {
      for (double& total : totals) total *= work.share;
      reduce(totals);
      for (double& total : totals) total = work.share > 0 ? total / work.share : 0;
    }
    if (!input_.tensor->needs_gradient) return;
    const double part = work.training && count_ > 0 ? 1 / count_ : 0;  // running statistics are constants: no gradient
    const float* const gamma = work.weights + spec_.weights.begin;
    for_each_run(work.samples, [&](std::size_t c, std::size_t at, std::size_t size, std::size_t lanes) {
      const double scale = gamma[c] * inverse_[c];
      const double bend = -scale * inverse_[c] * totals[channels_ + c] * part;
      const auto slope = static_cast<float>(scale), curve = static_cast<float>(bend);
      const auto level = static_cast<float>(-scale * totals[c] * part - bend * mean_[c]);
      const float* const x = input_.tensor->value + at;
      const float* const dy = output_.gradient + at;
      float* const dx = input_.gradient + at;
      for (std::size_t i = 0; i < size; ++i) dx[i] = dy[i] * slope + x[i] * curve + level;
      if (lanes == kLanes) return;
      for (std::size_t i = 0; i < size; ++i) {
        if (i % kLanes >= lanes) dx[i] = 0;
      }
    });
  }

 private:
  // f(channel, first element, elements, lanes in use) for each contiguous run of one channel of a block or row.
  template <class F> void for_each_run(std::size_t samples, F f) const {
    const std::size_t width = output_.blocked ? kLanes : 1, size = area_ * width;
    for (std::size_t first = 0, at = 0; first < samples; first += width) {
      const std::size_t lanes = output_.blocked ? std::min(kLanes, samples - first) : kLanes;
      for (std::size_t c = 0; c < channels_; ++c, at += size) f(c, at, size, lanes);
    }
  }

  void reduce(std::vector<double>& totals) {
    if (!all_reduce_) return;
    std::transform(totals.begin(), totals.end(), sums_.data(), [](double total) { return static_cast<float>(total); });
    all_reduce_({sums_.data(), totals.size()});
    std::copy_n(sums_.data(), totals.size(), totals.begin());
  }

  // totals[c] += the sum over the samples, without unused lanes: of x, or of its squared distance from the mean.
  void sum(std::size_t samples, bool is_squared, std::vector<double>& totals) const {
    for_each_run(samples, [&](std::size_t c, std::size_t at, std::size_t size, std::size_t lanes) {
      const float* const x = input_.tensor->value + at;
      const auto mean = static_cast<float>(mean_[c]);
      double partial[kLanes] = {};
      if (!output_.blocked) {
        for (std::size_t i = 0; i < size; ++i) partial[i % kLanes] += is_squared ? (x[i] - mean) * (x[i] - mean) : x[i];
      } else if (is_squared) {
        kernels().sum_squares(x, area_, mean, partial);
      } else {
        kernels().sum_lanes(x, area_, partial);
      }
      totals[c] = std::accumulate(partial, partial + lanes, totals[c]);
    });
  }

  // Two passes: E[x^2] - E[x]^2 would lose the variance of a channel with a large mean to cancellation.
  void measure(const Work& work) {
    std::vector<double> totals(channels_ + 1, 0.0);
    std::fill(mean_.begin(), mean_.end(), 0.0);
    sum(work.samples, false, totals);
    totals[channels_] = static_cast<double>(work.samples * area_);
    reduce(totals);
    count_ = totals[channels_];
    if (count_ == 0) return;
    for (std::size_t c = 0; c < channels_; ++c) mean_[c] = static_cast<float>(totals[c] / count_);
    totals.assign(channels_, 0.0);
    sum(work.samples, true, totals);
    reduce(totals);
    for (std::size_t c = 0; c < channels_; ++c) {
      inverse_[c] = 1 / std::sqrt(totals[c] / count_ + spec_.config.epsilon);
    }
  }

  void move_running(float* running) const {
    const double keep = spec_.config.momentum;
    for (std::size_t c = 0; c < channels_; ++c) {
      const double variance = 1 / (inverse_[c] * inverse_[c]) - spec_.config.epsilon;
      float& mean = running[c];
      float& spread = running[channels_ + c];
      mean = static_cast<float>(keep * mean + (1 - keep) * mean_[c]);
      spread = static_cast<float>(keep * spread + (1 - keep) * std::max(variance, 0.0));
    }
  }

  void take_running(const float* running) {
    for (std::size_t c = 0; c < channels_; ++c) {
      mean_[c] = running[c];
      inverse_[c] = 1 / std::sqrt(running[channels_ + c] + spec_.config.epsilon);
    }
  }

  const LayerSpec spec_;
  Port& input_;
  Tensor& output_;
  std::size_t channels_, area_;
  double count_ = 0;                // samples times pixels, summed over synchronised ranks
  std::vector<double> mean_, inverse_;
  Array<float> sums_;
  std::function<void(Vec)> all_reduce_;
};

}  // namespace

std::unique_ptr<Layer> make_batch_norm(Device& device, const LayerSpec& spec, Port& input, Tensor& output) {
  return std::make_unique<BatchNorm>(device, spec, input, output);
}

}  // namespace mgcompare
