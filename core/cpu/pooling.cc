#include "cpu/pooling.h"

#include <algorithm>
#include <cstring>

#include "cpu/pooled_rows.h"

namespace mgcompare {
namespace {

class Pooling : public Layer {
 public:
  Pooling(Device& device, const LayerSpec& spec, bool average, Port& input, Tensor& output)
      : device_(device), config_(spec.config), average_(average), input_(input), output_(output) {
    height_ = input.tensor->shape[1];
    width_ = input.tensor->shape[2];
    if (!average && PooledRows::fit(config_)) rows_ = PooledRows(config_, width_);
  }

  void reserve(std::size_t samples) override {
    if (rows_.exists()) rows_.reserve(device_, output_.size(samples));
    else if (!average_) winners_ = Array<std::uint32_t>(device_, output_.size(samples));
  }

  void forward(const Work& work) override {
    if (rows_.exists()) {
      return for_each_row(work.samples, [&](std::size_t in, std::size_t out) {
        rows_.pool(input_.tensor->value + in, Activation::none, output_.value, out);
      });
    }
    for_each_window(work.samples, [&](std::size_t plane, std::size_t out, const Window& window) {
      const float* const in = input_.tensor->value + plane;
      if (average_) {
        average(in, output_.value + out, window);
      } else {
        maximum(in, output_.value + out, winners_.data() + out, window);
      }
    });
  }

  void backward(const Work& work) override {
    if (!input_.tensor->needs_gradient) return;
    if (rows_.exists()) {
      if (height_ % config_.kernel[0] != 0) std::memset(input_.gradient, 0, input_.tensor->size(work.samples) * sizeof(float));
      return for_each_row(work.samples, [&](std::size_t in, std::size_t out) {
        rows_.unpool(output_.gradient, out, input_.gradient + in);
      });
    }
    std::memset(input_.gradient, 0, input_.tensor->size(work.samples) * sizeof(float));
    for_each_window(work.samples, [&](std::size_t plane, std::size_t out, const Window& window) {
      float* const to = input_.gradient + plane;
      const float* const gradient = output_.gradient + out;
      if (average_) {
        for_each_pixel(window, [&](std::size_t pixel) {
          for (std::size_t lane = 0; lane < kLanes; ++lane) to[pixel * kLanes + lane] += gradient[lane] * share();
        });
      } else {
        for (std::size_t lane = 0; lane < kLanes; ++lane) to[winners_[out + lane] * kLanes + lane] += gradient[lane];
      }
    });
  }

 private:
  // The pixels of one window that lie inside the image.
  struct Window {
    Range rows, columns;
  };

  float share() const { return 1.0f / static_cast<float>(config_.kernel[0] * config_.kernel[1]); }

  Range inside(std::size_t at, int axis, std::size_t size) const {
    const std::size_t begin = at * config_.stride[axis], padding = config_.padding[axis];
    return {std::max(begin, padding) - padding, std::min(begin + config_.kernel[axis], size + padding) - padding};
  }

  // f(first element of the windows, first element of their row of outputs)
  template <class F> void for_each_row(std::size_t samples, F f) const {
    const std::size_t planes = blocks_of(samples) * output_.shape[0], row = output_.shape[2] * kLanes;
    for (std::size_t plane = 0, out = 0; plane < planes; ++plane)
      for (std::size_t y = 0; y < output_.shape[1]; ++y, out += row) f((plane * height_ + y * config_.kernel[0]) * width_ * kLanes, out);
  }

  template <class F> void for_each_window(std::size_t samples, F f) const {
    const std::size_t planes = blocks_of(samples) * output_.shape[0];
    std::size_t out = 0;
    for (std::size_t plane = 0; plane < planes; ++plane) {
      for (std::size_t y = 0; y < output_.shape[1]; ++y) {
        for (std::size_t x = 0; x < output_.shape[2]; ++x, out += kLanes) {
          f(plane * height_ * width_ * kLanes, out, Window{inside(y, 0, height_), inside(x, 1, width_)});
        }
      }
    }
  }

  template <class F> void for_each_pixel(const Window& window, F f) const {
    for (std::size_t y = window.rows.begin; y < window.rows.end; ++y) {
      for (std::size_t x = window.columns.begin; x < window.columns.end; ++x) f(y * width_ + x);
    }
  }

  void average(const float* in, float* out, const Window& window) const {
    float sums[kLanes] = {};
    for_each_pixel(window, [&](std::size_t pixel) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += in[pixel * kLanes + lane];
    });
    for (std::size_t lane = 0; lane < kLanes; ++lane) out[lane] = sums[lane] * share();
  }

  void maximum(const float* in, float* out, std::uint32_t* winners, const Window& window) const {
    const std::size_t first = window.rows.begin * width_ + window.columns.begin;
    std::copy_n(in + first * kLanes, kLanes, out);
    std::fill_n(winners, kLanes, static_cast<std::uint32_t>(first));
    for_each_pixel(window, [&](std::size_t pixel) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const float value = in[pixel * kLanes + lane];
        // NaN must propagate, or divergence could go unnoticed.
        if (value <= out[lane] || out[lane] != out[lane]) continue;
        out[lane] = value;
        winners[lane] = static_cast<std::uint32_t>(pixel);
      }
    });
  }

  Device& device_;
  const LayerConfig config_;
  bool average_;
  Port& input_;
  Tensor& output_;
  std::size_t height_ = 0, width_ = 0;
  PooledRows rows_;                 // maxima of windows that do not overlap
  Array<std::uint32_t> winners_;    // of others: pixel index of each maximum in its plane
};

}  // namespace

std::unique_ptr<Layer> make_pooling(Device& device, const LayerSpec& spec, bool average, Port& input, Tensor& output) {
  return std::make_unique<Pooling>(device, spec, average, input, output);
}

}  // namespace mgcompare
