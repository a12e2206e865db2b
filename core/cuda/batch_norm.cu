#include "cuda/batch_norm.h"

#include "cuda/device.h"
#include "cuda/launch.h"

namespace mgcompare::cuda {
namespace {

constexpr unsigned kSumThreads = 512;

// Maps element i of a channel, counted over samples and pixels, to its position in a (samples, channels, area) array.
struct Layout {
  std::size_t channels, area, samples;
  __device__ std::size_t at(std::size_t channel, std::size_t i) const {
    return (i / area * channels + channel) * area + i % area;
  }
  __device__ std::size_t count() const { return samples * area; }
};

// One block per channel. term(channel, position, first, second) adds to two sums; they are written to sums[channel] and
// sums[channels + channel].
template <class Term> __global__ void channel_sums(Layout layout, float* sums, Term term) {
  const std::size_t channel = blockIdx.x;
  float first = 0, second = 0;
  for (std::size_t i = threadIdx.x; i < layout.count(); i += blockDim.x) term(channel, layout.at(channel, i), first, second);
  first = block_sum(first);
  second = block_sum(second);
  if (threadIdx.x != 0) return;
  sums[channel] = first;
  sums[layout.channels + channel] = second;
}

class BatchNorm : public Layer {
 public:
  BatchNorm(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output)
      : device_(device), spec_(spec), input_(input), output_(output), channels_(spec.input_shapes.front()[0]),
        area_(output.features / channels_), mean_(device, channels_), inverse_(device, channels_),
        sums_(device, 2 * channels_ + 1), count_(device, 1) {}

  void synchronize(const std::function<void(Vec)>& all_reduce) override { all_reduce_ = all_reduce; }

  void forward(const Work& work) override {
    if (work.training) measure(work);
    else take_running(work.buffers + spec_.buffers.begin);
    const float* const gamma = work.weights + spec_.weights.begin;
    const float* const beta = work.weights + spec_.bias.begin;
    const float* const mean = mean_.data();
    const float* const inverse = inverse_.data();
    const float* const x = input_.tensor->value;
    float* const y = output_.value;
    const std::size_t area = area_, channels = channels_;
    for_each_index(device_.compute_stream(), output_.size(work.samples), [=] __device__(std::size_t i) {
      const std::size_t c = i / area % channels;
      y[i] = (x[i] - mean[c]) * inverse[c] * gamma[c] + beta[c];
    });
  }

  void backward(const Work& work) override {
    const float* const x = input_.tensor->value;
    const float* const dy = output_.gradient;
    const float* const mean = mean_.data();
    const float* const inverse = inverse_.data();
    float* const sums = sums_.data();
    sum(work, [=] __device__(std::size_t c, std::size_t i, float& first, float& second) {
      first += dy[i];
      second += dy[i] * (x[i] - mean[c]) * inverse[c];
    });
    float* const beta_gradient = work.gradients + spec_.bias.begin;
    float* const gamma_gradient = work.gradients + spec_.weights.begin;
    const std::size_t area = area_, channels = channels_;
    for_each_index(device_.compute_stream(), channels_, [=] __device__(std::size_t c) {
      beta_gradient[c] = sums[c];
      gamma_gradient[c] = sums[channels + c];
    });
    const float share = work.training && all_reduce_ ? work.share : 1;
    if (share != 1)
      for_each_index(device_.compute_stream(), 2 * channels_, [=] __device__(std::size_t i) { sums[i] *= share; });
    if (work.training && all_reduce_) all_reduce_({sums, 2 * channels_});
    if (!input_.tensor->needs_gradient) return;
    const float* const gamma = work.weights + spec_.weights.begin;
    const float* const count = count_.data();
    const bool training = work.training;
    float* const dx = input_.gradient;
    for_each_index(device_.compute_stream(), output_.size(work.samples), [=] __device__(std::size_t i) {
      const std::size_t c = i / area % channels;
      const float part = training && *count * share > 0 ? 1 / (*count * share) : 0;  // running statistics: no gradient
      const float normal = (x[i] - mean[c]) * inverse[c];
      dx[i] = gamma[c] * inverse[c] * (dy[i] - part * (sums[c] + normal * sums[channels + c]));
    });
  }

  template <class Term> void sum(const Work& work, Term term) {
    const Layout layout{channels_, area_, work.samples};
    channel_sums<<<static_cast<unsigned>(channels_), kSumThreads, 0, device_.compute_stream()>>>(layout, sums_.data(), term);
    check(cudaGetLastError(), "summing for batch normalisation");
  }

  // Two passes: E[x^2] - E[x]^2 would lose the variance of a channel with a large mean to cancellation.
  void measure(const Work& work) {
    const float* const x = input_.tensor->value;
    float* const mean = mean_.data();
    float* const inverse = inverse_.data();
    float* const sums = sums_.data();
    float* const count = count_.data();
    const auto own = static_cast<float>(work.samples * area_);
    const std::size_t channels = channels_;
    sum(work, [=] __device__(std::size_t, std::size_t i, float& first, float&) { first += x[i]; });
    for_each_index(device_.compute_stream(), 1, [=] __device__(std::size_t) { sums[2 * channels] = own; });
    if (all_reduce_) all_reduce_({sums, 2 * channels_ + 1});
    for_each_index(device_.compute_stream(), channels_, [=] __device__(std::size_t c) {
      mean[c] = sums[2 * channels] > 0 ? sums[c] / sums[2 * channels] : 0;
      if (c == 0) *count = sums[2 * channels];
    });
    sum(work, [=] __device__(std::size_t c, std::size_t i, float& first, float&) {
      first += (x[i] - mean[c]) * (x[i] - mean[c]);
    });
    if (all_reduce_) all_reduce_({sums, channels_});
    float* const running = work.buffers + spec_.buffers.begin;
    const auto keep = static_cast<float>(spec_.config.momentum), rest = static_cast<float>(1 - spec_.config.momentum);
    const auto epsilon = static_cast<float>(spec_.config.epsilon);
    for_each_index(device_.compute_stream(), channels_, [=] __device__(std::size_t c) {
      if (*count == 0) {
        inverse[c] = 0;
        return;
      }
      const float variance = sums[c] / *count;
      inverse[c] = static_cast<float>(1 / sqrt(static_cast<double>(variance) + epsilon));
      running[c] = keep * running[c] + rest * mean[c];
      running[channels + c] = keep * running[channels + c] + rest * variance;
    });
  }

  void take_running(const float* running) {
    float* const mean = mean_.data();
    float* const inverse = inverse_.data();
    const auto epsilon = static_cast<float>(spec_.config.epsilon);
    const std::size_t channels = channels_;
    for_each_index(device_.compute_stream(), channels_, [=] __device__(std::size_t c) {
      mean[c] = running[c];
      inverse[c] = static_cast<float>(1 / sqrt(static_cast<double>(running[channels + c]) + epsilon));
    });
  }

 private:
  CudaDevice& device_;
  const LayerSpec spec_;
  Port& input_;
  Tensor& output_;
  std::size_t channels_, area_;
  Array<float> mean_, inverse_;
  Array<float> sums_;               // two per channel, then the number of elements
  Array<float> count_;              // samples times pixels, summed over synchronised ranks
  std::function<void(Vec)> all_reduce_;
};

}  // namespace

std::unique_ptr<Layer> make_batch_norm(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output) {
  return std::make_unique<BatchNorm>(device, spec, input, output);
}

}  // namespace mgcompare::cuda
