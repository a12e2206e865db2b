#include "cpu/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "cpu/pooled_rows.h"

namespace mgcompare {
namespace {

class BatchNorm : public LayerOfParts {
 public:
  BatchNorm(Device& device, const LayerSpec& spec, const Fusion& fusion, Port& input, Tensor& output)
      : device_(device), spec_(spec), activation_(fusion.activation), input_(input), output_(output), channels_(output.shape[0]),
        area_(input.tensor->features / channels_), mean_(channels_), inverse_(channels_), sums_(device, 2 * channels_ + 1) {
    if (fusion.pool == nullptr) return;
    pooled_ = PooledRows(fusion.pool->config, input.tensor->shape.back());
    rows_ = Array<float>(device, pooled_.pixels() * kLanes);
  }

  void synchronize(const std::function<void(Vec)>& all_reduce) override { all_reduce_ = all_reduce; }

  void reserve(std::size_t samples) override {
    if (pooled_.exists()) pooled_.reserve(device_, output_.size(samples));
  }

  bool needs_all() const override { return true; }

  // This rank's mean of each channel, and the sum of squared distances from it. Each run is read twice, the second time from the cache
  // for images up to about 128 x 128. E[x^2] - E[x]^2 would lose the variance of a channel with a large mean to cancellation.
  void observe(const Work& work, Range samples) override {
    if (!work.training) return;
    if (samples.begin == 0) moments_.assign(channels_, {});
    saw_input_ = samples.end == work.samples;
    for_each_run(samples, [&](const Run& run) {
      const float* const x = input_.tensor->value + run.at;
      double sums[kLanes] = {}, distances[kLanes] = {};
      if (blocked()) {
        kernels().sum_lanes(x, area_, sums);
      } else {
        for (std::size_t i = 0; i < area_; ++i) sums[i % kLanes] += x[i];
      }
      const auto count = static_cast<double>(area_ * (blocked() ? run.lanes : 1));
      const double mean = std::accumulate(sums, sums + run.lanes, 0.0) / count;
      const auto centre = static_cast<float>(mean);
      if (blocked()) {
        kernels().sum_squares(x, area_, centre, distances);
      } else {
        for (std::size_t i = 0; i < area_; ++i) distances[i % kLanes] += (x[i] - centre) * (x[i] - centre);
      }
      // Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
      Moments& own = moments_[run.channel];
      const double distance = mean - own.mean, all = own.count + count;
      own.squares += std::accumulate(distances, distances + run.lanes, 0.0) + distance * distance * own.count * count / all;
      own.mean += distance * count / all;
      own.count = all;
    });
  }

  void begin_forward(const Work& work) override {
    saw_gradient_ = false;  // if the pass before was abandoned
    if (work.training) {
      measure(work);
      if (count_ > 0) move_running(work.buffers + spec_.buffers.begin);
    } else {
      take_running(work.buffers + spec_.buffers.begin);
    }
    const float* const gamma = work.weights + spec_.weights.begin;
    const float* const beta = work.weights + spec_.bias.begin;
    scales_.resize(channels_);
    shifts_.resize(channels_);
    for (std::size_t c = 0; c < channels_; ++c) {
      scales_[c] = static_cast<float>(gamma[c] * inverse_[c]);
      shifts_[c] = static_cast<float>(beta[c] - mean_[c] * gamma[c] * inverse_[c]);
    }
  }

  void forward_part(const Work&, Range samples) override {
    for_each_run(samples, [&](const Run& run) {
      const float* const x = input_.tensor->value + run.at;
      const float scale = scales_[run.channel], shift = shifts_[run.channel];
      if (pooled_.exists()) return pool(run, x);
      float* const y = output_.value + run.at;
      if (blocked()) return kernels().normalize(activation_, x, scale, shift, area_, y);
      for (std::size_t i = 0; i < area_; ++i) y[i] = x[i] * scale + shift;
    });
  }

  void observe_gradient(const Work& work, Range samples) override {
    if (samples.begin == 0) totals_.assign(2 * channels_, 0.0);
    saw_gradient_ = samples.end == work.samples;
    for_each_run(samples, [&](const Run& run) {
      const auto mean = static_cast<float>(mean_[run.channel]);
      double sums[kLanes] = {}, products[kLanes] = {};
      if (pooled_.exists()) {
        float* const gradient = output_.gradient + output_row(run, 0);
        kernels().activate_back(activation_, output_.value + output_row(run, 0), gradient, gradient, output_.features / channels_ * kLanes);
      }
      if (blocked()) {
        for_each_strip(run, [&](const Normalized& from, std::size_t pixels, std::size_t) { kernels().sum_products(from, pixels, mean, sums, products); });
      } else {
        const float* const x = input_.tensor->value + run.at;
        const float* const dy = output_.gradient + run.at;
        for (std::size_t i = 0; i < area_; ++i) {
          sums[i % kLanes] += dy[i];
          products[i % kLanes] += dy[i] * (x[i] - mean);
        }
      }
      totals_[run.channel] += std::accumulate(sums, sums + kLanes, 0.0);
      totals_[channels_ + run.channel] += std::accumulate(products, products + kLanes, 0.0) * inverse_[run.channel];
    });
  }

  // The sums of dy, and of dy * normalised x. Lanes without a sample have a gradient of zero.
  void begin_backward(const Work& work) override {
    if (!saw_gradient_) observe_gradient(work, {0, work.samples});
    saw_gradient_ = false;
    for (std::size_t c = 0; c < channels_; ++c) {
      work.gradients[spec_.bias.begin + c] = static_cast<float>(totals_[c]);
      work.gradients[spec_.weights.begin + c] = static_cast<float>(totals_[channels_ + c]);
    }
    if (work.training && all_reduce_) {
      for (double& total : totals_) total *= work.share;
      reduce(totals_);
      for (double& total : totals_) total = work.share > 0 ? total / work.share : 0;
    }
    // What the dependence of mean and variance on x adds to its gradient is linear in x. Running statistics are constants.
    const double part = work.training && count_ > 0 ? 1 / count_ : 0;
    const float* const gamma = work.weights + spec_.weights.begin;
    factors_.resize(channels_);
    offsets_.resize(channels_);
    for (std::size_t c = 0; c < channels_; ++c) {
      const double scale = gamma[c] * inverse_[c], factor = -scale * inverse_[c] * totals_[channels_ + c] * part;
      factors_[c] = static_cast<float>(factor);
      offsets_[c] = static_cast<float>(-scale * totals_[c] * part - factor * mean_[c]);
    }
  }

  void backward_part(const Work&, Range samples) override {
    if (!input_.tensor->needs_gradient) return;
    for_each_run(samples, [&](const Run& run) {
      const std::size_t c = run.channel;
      float* const dx = input_.gradient + run.at;
      if (blocked()) {
        for_each_strip(run, [&](const Normalized& from, std::size_t pixels, std::size_t at) { kernels().normalize_back(from, pixels, factors_[c], offsets_[c], dx + at); });
        if (run.lanes == kLanes) return;
        for (std::size_t i = 0; i < area_; ++i) std::fill(dx + i * kLanes + run.lanes, dx + (i + 1) * kLanes, 0.0f);
        return;
      }
      const float* const x = input_.tensor->value + run.at;
      const float* const dy = output_.gradient + run.at;
      for (std::size_t i = 0; i < area_; ++i) dx[i] = dy[i] * scales_[c] + (x[i] * factors_[c] + offsets_[c]);
    });
  }

 private:
  // A contiguous run of one channel of a block or row.
  struct Run {
    std::size_t channel = 0, plane = 0;
    std::size_t at = 0;             // first element of the input
    std::size_t lanes = 0;          // in use
  };

  struct Moments {
    double count = 0, mean = 0;
    double squares = 0;             // sum of the squared distances from the mean
  };

  bool blocked() const { return output_.blocked; }
  std::size_t output_row(const Run& run, std::size_t y) const {
    return (run.plane * output_.shape[1] + y) * output_.shape[2] * kLanes;
  }

  template <class F> void for_each_run(Range samples, F f) const {
    const std::size_t step = blocked() ? kLanes : 1;
    Run run;
    run.plane = samples.begin / step * channels_;
    run.at = run.plane * area_ * step;
    for (std::size_t first = samples.begin; first < samples.end; first += step) {
      run.lanes = blocked() ? std::min(kLanes, samples.end - first) : kLanes;
      for (run.channel = 0; run.channel < channels_; ++run.channel, ++run.plane, run.at += area_ * step) f(run);
    }
  }

  void pool(const Run& run, const float* x) {
    for (std::size_t y = 0; y < output_.shape[1]; ++y) {
      const float* const from = x + y * pooled_.pixels() * kLanes;
      kernels().normalize(Activation::none, from, scales_[run.channel], shifts_[run.channel], pooled_.pixels(), rows_.data());
      pooled_.pool(rows_.data(), activation_, output_.value, output_row(run, y));
    }
  }

  // f(normalised pixels with their gradient, their number, first element in the run) for all pixels of a run of blocked memory.
  template <class F> void for_each_strip(const Run& run, F f) {
    const float* const x = input_.tensor->value + run.at;
    const float scale = scales_[run.channel], shift = shifts_[run.channel];
    if (!pooled_.exists()) return f(Normalized{activation_, x, output_.value + run.at, output_.gradient + run.at, scale, shift}, area_, 0);
    const std::size_t rows = pooled_.pixels();
    const auto strip = [&](std::size_t first, std::size_t pixels) {
      f(Normalized{Activation::none, x + first * kLanes, nullptr, rows_.data(), scale, shift}, pixels, first * kLanes);
    };
    for (std::size_t y = 0; y < output_.shape[1]; ++y) {
      pooled_.unpool(output_.gradient, output_row(run, y), rows_.data());
      strip(y * rows, rows);
    }
    const std::size_t first = output_.shape[1] * rows;
    if (first == area_) return;
    std::fill_n(rows_.data(), rows_.size(), 0.0f);  // rows that the pooling cuts off
    strip(first, area_ - first);
  }

  void reduce(std::vector<double>& totals) {
    if (!all_reduce_) return;
    std::transform(totals.begin(), totals.end(), sums_.data(), [](double total) { return static_cast<float>(total); });
    all_reduce_({sums_.data(), totals.size()});
    std::copy_n(sums_.data(), totals.size(), totals.begin());
  }

  void measure(const Work& work) {
    // An empty share announces nothing, and what is left may be that of an abandoned pass.
    if (!saw_input_ || work.samples == 0) observe(work, {0, work.samples});
    saw_input_ = false;
    std::vector<double> squares(channels_), totals(channels_ + 1);
    const auto count = static_cast<double>(work.samples * area_);
    for (std::size_t c = 0; c < channels_; ++c) totals[c] = moments_[c].mean * count;
    totals[channels_] = count;
    reduce(totals);
    count_ = totals[channels_];
    if (count_ == 0) return;
    for (std::size_t c = 0; c < channels_; ++c) {
      mean_[c] = static_cast<float>(totals[c] / count_);
      const double distance = moments_[c].mean - mean_[c];
      squares[c] = moments_[c].squares + count * distance * distance;
    }
    reduce(squares);
    for (std::size_t c = 0; c < channels_; ++c) {
      inverse_[c] = 1 / std::sqrt(squares[c] / count_ + spec_.config.epsilon);
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

  Device& device_;
  const LayerSpec spec_;
  Activation activation_;
  Port& input_;
  Tensor& output_;
  std::size_t channels_;
  std::size_t area_;                // elements of a channel of one sample, before pooling
  PooledRows pooled_;
  double count_ = 0;                // samples times pixels, summed over synchronised ranks
  std::vector<double> mean_, inverse_;
  std::vector<Moments> moments_;    // of this rank's samples so far
  std::vector<double> totals_;      // of the gradient, then of its products with the normalised input
  bool saw_input_ = false, saw_gradient_ = false;  // observed in this pass
  std::vector<float> scales_, shifts_;      // y = x * scale + shift
  std::vector<float> factors_, offsets_;    // dx = dy * scale + x * factor + offset
  Array<float> sums_;
  Array<float> rows_;               // the rows of one row of windows
  std::function<void(Vec)> all_reduce_;
};

}  // namespace

std::unique_ptr<Layer> make_batch_norm(Device& device, const LayerSpec& spec, const Fusion& fusion, Port& input, Tensor& output) {
  return std::make_unique<BatchNorm>(device, spec, fusion, input, output);
}

}  // namespace mgcompare
