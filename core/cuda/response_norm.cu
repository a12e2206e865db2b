#include "cuda/response_norm.h"

#include "cuda/device.h"
#include "cuda/launch.h"

namespace mgcompare::cuda {
namespace {

// Calls f(distance from element i to another channel of its pixel) for the channels at most `radius` away.
template <class F> __device__ void for_each_neighbour(std::size_t i, int channels, int radius, F f) {
  const int c = static_cast<int>(i % channels);
  const int first = max(0, c - radius), last = min(channels - 1, c + radius);
  for (int k = first; k <= last; ++k) f(static_cast<std::ptrdiff_t>(k - c));
}

class ResponseNorm : public Layer {
 public:
  ResponseNorm(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output)
      : device_(device), config_(spec.config), input_(input), output_(output), channels_(static_cast<int>(spec.output_shape[0])),
        radius_(static_cast<int>(spec.config.radius)) {}

  void reserve(std::size_t samples) override { base_ = Array<float>(device_, output_.size(samples)); }

  void forward(const Work& work) override {
    const float* const x = input_.values();
    float* const y = output_.values();
    float* const base = base_.data();
    const int channels = channels_, radius = radius_;
    const auto alpha = static_cast<float>(config_.alpha), offset = static_cast<float>(config_.offset);
    const auto exponent = static_cast<float>(-config_.beta);
    for_each_index(device_.compute_stream(), output_.size(work.samples), [=] __device__(std::size_t i) {
      float sum = 0;
      for_each_neighbour(i, channels, radius, [&](std::ptrdiff_t away) { sum += x[i + away] * x[i + away]; });
      base[i] = offset + alpha * sum;
      y[i] = x[i] * powf(base[i], exponent);
    });
  }

  void backward(const Work& work) override {
    if (!input_.tensor->needs_gradient) return;
    const float* const x = input_.values();
    const float* const y = output_.values();
    const float* const dy = output_.gradients();
    const float* const base = base_.data();
    float* const dx = input_.gradients();
    const int channels = channels_, radius = radius_;
    const auto exponent = static_cast<float>(-config_.beta), factor = static_cast<float>(-2 * config_.alpha * config_.beta);
    for_each_index(device_.compute_stream(), output_.size(work.samples), [=] __device__(std::size_t i) {
      float sum = 0;
      for_each_neighbour(i, channels, radius,
                         [&](std::ptrdiff_t away) { sum += dy[i + away] * y[i + away] / base[i + away]; });
      dx[i] = dy[i] * powf(base[i], exponent) + factor * x[i] * sum;
    });
  }

 private:
  CudaDevice& device_;
  const LayerConfig config_;
  Port& input_;
  Tensor& output_;
  int channels_, radius_;
  Array<float> base_;               // what is raised to the power
};

}  // namespace

std::unique_ptr<Layer> make_response_norm(CudaDevice& device, const LayerSpec& spec, Port& input, Tensor& output) {
  return std::make_unique<ResponseNorm>(device, spec, input, output);
}

}  // namespace mgcompare::cuda
