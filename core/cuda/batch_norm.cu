#include "cuda/batch_norm.h"

#include "cuda/activation_math.h"
#include "cuda/column_sums.h"

namespace mgcompare::cuda {
namespace {

// What a channel is normalised by, and scaled and shifted with.
struct Scales {
  const float *mean, *inverse, *gamma, *beta;

  template <int V> struct Loaded {
    float mean[V], inverse[V], gamma[V], beta[V];
    __device__ float normal(int k, float x) const { return (x - mean[k]) * inverse[k]; }
    __device__ float result(int k, float x) const { return normal(k, x) * gamma[k] + beta[k]; }
  };
  template <int V> __device__ Loaded<V> at(unsigned channel) const {
    Loaded<V> loaded;
#pragma unroll
    for (int k = 0; k < V; ++k) {
      loaded.mean[k] = mean[channel + k];
      loaded.inverse[k] = inverse[channel + k];
      loaded.gamma[k] = gamma[channel + k];
      loaded.beta[k] = beta[channel + k];
    }
    return loaded;
  }
};

// Sums of x - shift and of its square, where the shift is the channel's first value. Without it, the variance of a channel
// with a large mean would be lost to cancellation.
template <class T> struct MomentTerm {
  const T* x;

  template <int V> __device__ auto at(unsigned channel) const {
    struct Add {
      const T* x;
      float shift[V];
      __device__ void operator()(std::size_t position, float (&sums)[2 * V]) const {
        float values[V];
        load<V>(x + position, values);
#pragma unroll
        for (int k = 0; k < V; ++k) {
          const float away = values[k] - shift[k];
          sums[k] += away;
          sums[V + k] += away * away;
        }
      }
    } add{x, {}};
    load<V>(x + channel, add.shift);
    return add;
  }
};

// The gradients of beta and gamma: sums of the slopes, and of their products with the normalised values.
template <Activation A, class T> struct SlopeTerm {
  const T *x, *dy;
  Scales scales;

  template <int V> __device__ auto at(unsigned channel) const {
    return [x = x, dy = dy, loaded = scales.template at<V>(channel)](std::size_t position, float (&sums)[2 * V]) {
      float values[V], slopes[V];
      load<V>(x + position, values);
      load<V>(dy + position, slopes);
#pragma unroll
      for (int k = 0; k < V; ++k) {
        const float slope = activation_gradient<A>(activated<A>(loaded.result(k, values[k])), slopes[k]);
        sums[k] += slope;
        sums[V + k] += slope * loaded.normal(k, values[k]);
      }
    };
  }
};

// Threads keep their channels: a block has `lanes` packs of neighbouring channels and runs over rows.
template <Activation A, int V, class T>
__global__ void normalize(std::size_t rows, unsigned channels, unsigned lanes, Scales scales, const T* x, T* y) {
  const unsigned channel = (blockIdx.x * lanes + threadIdx.x % lanes) * V, tall = blockDim.x / lanes;
  wait_for_previous_kernel();
  if (channel >= channels) return;
  const auto loaded = scales.template at<V>(channel);
#pragma unroll 4
  for (std::size_t row = blockIdx.y * tall + threadIdx.x / lanes; row < rows; row += static_cast<std::size_t>(gridDim.y) * tall) {
    float values[V];
    load<V>(x + row * channels + channel, values);
#pragma unroll
    for (int k = 0; k < V; ++k) values[k] = activated<A>(loaded.result(k, values[k]));
    store<V>(y + row * channels + channel, values);
  }
}

// sums: of the gradients of beta and gamma, over all synchronised ranks. `before`: the activation whose output x is, and whose
// derivative is applied, too.
template <Activation A, int V, class T>
__global__ void input_gradient(std::size_t rows, unsigned channels, unsigned lanes, Scales scales, const float* sums,
                               const float* count, float share, bool training, Activation before, const T* x, const T* dy, T* dx) {
  const unsigned channel = (blockIdx.x * lanes + threadIdx.x % lanes) * V, tall = blockDim.x / lanes;
  wait_for_previous_kernel();
  if (channel >= channels) return;
  const auto loaded = scales.template at<V>(channel);
  const float all = *count * share;
  const float part = training && all > 0 ? 1 / all : 0;  // running statistics: no gradient
  float slope_mean[V], product_mean[V];
#pragma unroll
  for (int k = 0; k < V; ++k) {
    slope_mean[k] = part * sums[channel + k];
    product_mean[k] = part * sums[channels + channel + k];
  }
#pragma unroll 4
  for (std::size_t row = blockIdx.y * tall + threadIdx.x / lanes; row < rows; row += static_cast<std::size_t>(gridDim.y) * tall) {
    float values[V], slopes[V];
    load<V>(x + row * channels + channel, values);
    load<V>(dy + row * channels + channel, slopes);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const float slope = activation_gradient<A>(activated<A>(loaded.result(k, values[k])), slopes[k]);
      slopes[k] = loaded.gamma[k] * loaded.inverse[k] * (slope - slope_mean[k] - loaded.normal(k, values[k]) * product_mean[k]);
      slopes[k] = activation_gradient(before, values[k], slopes[k]);
    }
    store<V>(dx + row * channels + channel, slopes);
  }
}

class BatchNorm : public Layer {
 public:
  BatchNorm(CudaDevice& device, const LayerSpec& spec, const Range& bias, Activation activation, Port& input, Tensor& output)
      : device_(device), spec_(spec), bias_(bias), activation_(activation), input_(input), output_(output),
        channels_(spec.input_shapes.front()[0]), column_sums_(device, channels_), mean_(device, channels_),
        inverse_(device, channels_), sums_(device, 2 * channels_ + 1), moments_(device, channels_), count_(device, 1) {}

  void synchronize(const std::function<void(Vec)>& all_reduce) override { all_reduce_ = all_reduce; }

  void forward(const Work& work) override {
    with_element(output_.format.element, [&](auto type) {
      using T = decltype(type);
      if (work.training) measure<T>(work);
      else take_running(work);
      const T* const x = input_.values<T>();
      T* const y = output_.values<T>();
      with_activation(activation_, [&](auto chosen) {
        over_rows(work, x, [&](auto pack, dim3 grid, unsigned lanes) {
          launch(device_.compute_stream(), grid, kThreads, 0, normalize<decltype(chosen)::value, decltype(pack)::value, T>,
                 rows(work), static_cast<unsigned>(channels_), lanes, scales(work), x, y);
        });
      });
    });
  }

  void backward(const Work& work) override {
    with_element(output_.format.element, [&](auto type) {
      with_activation(activation_, [&](auto chosen) { backward<decltype(chosen)::value, decltype(type)>(work); });
    });
  }

  // nvcc refuses device lambdas in private members.
  std::size_t rows(const Work& work) const { return work.samples * (output_.features / channels_); }
  Scales scales(const Work& work) const {
    return {mean_.data(), inverse_.data(), work.weights + spec_.weights.begin, work.weights + spec_.bias.begin};
  }

  // In a vector of weights or gradients; null without one.
  template <class T> T* bias(T* vector) const { return bias_.size() == 0 ? nullptr : vector + bias_.begin; }

  // Calls f(pack size, grid, lanes) for a kernel whose threads keep their channels, unless there are no rows.
  template <class T, class F> void over_rows(const Work& work, const T* x, F f) const {
    if (work.samples == 0) return;
    with_pack_size(
        channels_,
        [&](auto pack) {
          constexpr int V = decltype(pack)::value;
          const std::size_t packs = channels_ / V;
          const unsigned lanes = lanes_for(packs, 32);
          const std::size_t groups = (packs + lanes - 1) / lanes, tall = kThreads / lanes;
          const std::size_t down = std::clamp<std::size_t>(rows(work) / (tall * 4), 1, std::max<std::size_t>(1, 132 * 16 / groups));
          f(pack, dim3(static_cast<unsigned>(groups), static_cast<unsigned>(down)), lanes);
        },
        x);
  }

  template <Activation A, class T> void backward(const Work& work) {
    const T* const x = input_.values<T>();
    const T* const dy = output_.gradients<T>();
    float* const sums = sums_.data();
    float* const beta_gradient = work.gradients + spec_.bias.begin;
    float* const gamma_gradient = work.gradients + spec_.weights.begin;
    float* const bias_gradient = bias(work.gradients);
    const float* const gamma = work.weights + spec_.weights.begin;
    const float* const inverse = inverse_.data();
    const bool training = work.training;
    const std::size_t channels = channels_;
    const float share = work.training && all_reduce_ ? work.share : 1;
    column_sums_.sum<2>(
        rows(work), SlopeTerm<A, T>{x, dy, scales(work)},
        [=] __device__(unsigned c, const float(&totals)[2]) {
          beta_gradient[c] = totals[0];
          gamma_gradient[c] = totals[1];
          if (bias_gradient != nullptr) bias_gradient[c] = training ? 0.0f : gamma[c] * inverse[c] * totals[0];
          sums[c] = totals[0] * share;
          sums[channels + c] = totals[1] * share;
        },
        x, dy);
    if (work.training && all_reduce_) all_reduce_({sums, 2 * channels_});
    if (!input_.tensor->needs_gradient) return;
    T* const dx = input_.gradients<T>();
    over_rows(work, x, [&](auto pack, dim3 grid, unsigned lanes) {
      launch(device_.compute_stream(), grid, kThreads, 0, input_gradient<A, decltype(pack)::value, T>, rows(work),
             static_cast<unsigned>(channels_), lanes, scales(work), sums, count_.data(), share, work.training, input_.tensor->derivative, x, dy, dx);
    });
  }

  // Means and variances of the batch. With synchronised ranks, first the means, then the squared deviations from them.
  template <class T> void measure(const Work& work) {
    const T* const x = input_.values<T>();
    float* const mean = mean_.data();
    float* const inverse = inverse_.data();
    float* const sums = sums_.data();
    float* const moments = moments_.data();
    float* const count = count_.data();
    const auto own = static_cast<float>(rows(work));
    const std::size_t channels = channels_;
    float* const running = work.buffers + spec_.buffers.begin;
    const float* const bias = this->bias(work.weights);
    const auto keep = static_cast<float>(spec_.config.momentum), rest = static_cast<float>(1 - spec_.config.momentum);
    const auto epsilon = static_cast<float>(spec_.config.epsilon);
    // Of one channel, from its mean and the sum of the squared deviations from it.
    const auto settle = [=] __device__(unsigned c, float all, float average, float squares) {
      mean[c] = average;
      if (c == 0) *count = all;
      if (all == 0) {
        inverse[c] = 0;
        return;
      }
      const float variance = squares / all;
      inverse[c] = static_cast<float>(1 / sqrt(static_cast<double>(variance) + epsilon));
      running[c] = keep * running[c] + rest * (bias == nullptr ? average : average + bias[c]);
      running[channels + c] = keep * running[channels + c] + rest * variance;
    };
    const bool alone = !all_reduce_;
    column_sums_.sum<2>(
        rows(work), MomentTerm<T>{x},
        [=] __device__(unsigned c, const float(&totals)[2]) {
          const float shift = own > 0 ? widened(x[c]) : 0.0f, away = own > 0 ? totals[0] / own : 0.0f;
          const float squares = fmaxf(totals[1] - totals[0] * away, 0.0f);
          if (alone) return settle(c, own, shift + away, squares);
          mean[c] = shift + away;  // this rank's
          moments[c] = squares;
          sums[c] = (shift + away) * own;
          if (c == 0) sums[2 * channels] = own;
        },
        x);
    if (alone) return;
    all_reduce_({sums, 2 * channels_ + 1});
    for_each_index(device_.compute_stream(), channels_, [=] __device__(std::size_t c) {
      const float all = sums[2 * channels], average = all > 0 ? sums[c] / all : 0, away = mean[c] - average;
      mean[c] = average;
      sums[c] = moments[c] + own * away * away;
    });
    all_reduce_({sums, channels_});
    for_each_index(device_.compute_stream(), channels_, [=] __device__(std::size_t c) {
      settle(static_cast<unsigned>(c), sums[2 * channels], mean[c], sums[c]);
    });
  }

  void take_running(const Work& work) {
    const float* const running = work.buffers + spec_.buffers.begin;
    const float* const bias = this->bias(work.weights);
    float* const mean = mean_.data();
    float* const inverse = inverse_.data();
    const auto epsilon = static_cast<float>(spec_.config.epsilon);
    const std::size_t channels = channels_;
    for_each_index(device_.compute_stream(), channels_, [=] __device__(std::size_t c) {
      mean[c] = bias == nullptr ? running[c] : running[c] - bias[c];
      inverse[c] = static_cast<float>(1 / sqrt(static_cast<double>(running[channels + c]) + epsilon));
    });
  }

 private:
  CudaDevice& device_;
  const LayerSpec spec_;
  const Range bias_;                // of the layer before; empty if that layer adds it
  Activation activation_;
  Port& input_;
  Tensor& output_;
  std::size_t channels_;
  ColumnSums column_sums_;
  Array<float> mean_, inverse_;
  Array<float> sums_;               // two per channel, then the number of elements
  Array<float> moments_;            // of this rank: squared deviations from its means
  Array<float> count_;              // samples times pixels, summed over synchronised ranks
  std::function<void(Vec)> all_reduce_;
};

}  // namespace

std::unique_ptr<Layer> make_batch_norm(CudaDevice& device, const LayerSpec& spec, const Range& bias, Activation activation,
                                       Port& input, Tensor& output) {
  return std::make_unique<BatchNorm>(device, spec, bias, activation, input, output);
}

}  // namespace mgcompare::cuda
