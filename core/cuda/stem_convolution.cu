#include "stem_convolution.h"

#include "activate.h"
#include "device.h"
#include "launch.h"
#include "partials.h"
#include "pooled.h"

namespace mgcompare::cuda {
namespace {

constexpr unsigned kKernel = 5, kTaps = kKernel * kKernel;
constexpr unsigned kTapsPadded = 28;      // whole float4s
constexpr unsigned kGroup = 5;            // channels of a thread: they share its patch of the image
constexpr unsigned kMostPixels = 1024;    // of the image
constexpr unsigned kMostThreads = 640;     // leaves a thread the registers for its patch
constexpr unsigned kBlocksPerProcessor = 2;

struct Stem {
  unsigned height, width, down, across, channels;
  __host__ __device__ unsigned places() const { return down * across; }
};

// A thread has one place of the pooled image and kGroup channels of it.
template <Activation A>
__global__ void __launch_bounds__(kMostThreads)
    stem_forward(Stem s, const float* in, const float* weights, const float* bias, float* out, std::uint8_t* choice,
                 unsigned samples) {
  __shared__ __align__(16) float image[kMostPixels];
  extern __shared__ __align__(16) float taps[];  // (channels, kTapsPadded)
  for (unsigned i = threadIdx.x; i < s.channels * kTaps; i += blockDim.x)
    taps[i / kTaps * kTapsPadded + i % kTaps] = weights[i];
  const unsigned place = threadIdx.x % s.places(), group = threadIdx.x / s.places();
  const unsigned y = place / s.across, x = place % s.across;
  for (unsigned n = blockIdx.x; n < samples; n += gridDim.x) {
    __syncthreads();
    for (unsigned i = threadIdx.x; i < s.height * s.width; i += blockDim.x)
      image[i] = __ldg(in + static_cast<std::size_t>(n) * s.height * s.width + i);
    __syncthreads();
    float patch[kKernel + 1][kKernel + 1];
#pragma unroll
    for (unsigned row = 0; row <= kKernel; ++row) {
#pragma unroll
      for (unsigned column = 0; column <= kKernel; column += 2) {
        const float2 two = *reinterpret_cast<const float2*>(&image[(2 * y + row) * s.width + 2 * x + column]);
        patch[row][column] = two.x;
        patch[row][column + 1] = two.y;
      }
    }
#pragma unroll 1
    for (unsigned k = 0; k < kGroup; ++k) {
      const unsigned c = group * kGroup + k;
      float tap[kTapsPadded];
#pragma unroll
      for (unsigned i = 0; i < kTapsPadded / 4; ++i)
        *reinterpret_cast<float4*>(&tap[4 * i]) = *reinterpret_cast<const float4*>(&taps[c * kTapsPadded + 4 * i]);
      float sum[4] = {};
#pragma unroll
      for (unsigned i = 0; i < kTaps; ++i) {
#pragma unroll
        for (unsigned p = 0; p < 4; ++p) sum[p] += tap[i] * patch[p / 2 + i / kKernel][p % 2 + i % kKernel];
      }
      const Pooled best = largest_of(sum);
      const std::size_t at = (static_cast<std::size_t>(n) * s.channels + c) * s.places() + place;
      out[at] = activated<A>(best.value + (bias == nullptr ? 0.0f : bias[c]));
      choice[at] = static_cast<std::uint8_t>(best.place);
    }
  }
}

// A warp has one channel; its lanes have the places. partial[block] is the weights' gradient, then the bias's.
template <Activation A>
__global__ void __launch_bounds__(1024) stem_backward(Stem s, const float* in, const float* out, const float* gradient,
                              const std::uint8_t* choice, float* partial, unsigned samples, bool with_bias) {
  __shared__ float image[kMostPixels];
  const unsigned lane = threadIdx.x % 32, c = threadIdx.x / 32;
  float sums[kTaps] = {}, bias_sum = 0;
  for (unsigned n = blockIdx.x; n < samples; n += gridDim.x) {
    __syncthreads();
    for (unsigned i = threadIdx.x; i < s.height * s.width; i += blockDim.x)
      image[i] = __ldg(in + static_cast<std::size_t>(n) * s.height * s.width + i);
    __syncthreads();
#pragma unroll 2
    for (unsigned place = lane; place < s.places(); place += 32) {
      const std::size_t at = (static_cast<std::size_t>(n) * s.channels + c) * s.places() + place;
      const float value = slope<A>(__ldg(out + at), __ldg(gradient + at));
      const unsigned winner = __ldg(choice + at);
      const float* const window =
          &image[(place / s.across * 2 + winner / 2) * s.width + place % s.across * 2 + winner % 2];
#pragma unroll
      for (unsigned i = 0; i < kTaps; ++i) sums[i] += value * window[i / kKernel * s.width + i % kKernel];
      bias_sum += value;
    }
  }
  float* const to = partial + static_cast<std::size_t>(blockIdx.x) * s.channels * (kTaps + (with_bias ? 1 : 0));
#pragma unroll
  for (unsigned i = 0; i < kTaps; ++i) {
    const float sum = warp_sum(sums[i]);
    if (lane == 0) to[c * kTaps + i] = sum;
  }
  bias_sum = warp_sum(bias_sum);
  if (lane == 0 && with_bias) to[s.channels * kTaps + c] = bias_sum;
}

class StemConvolution : public Layer {
 public:
  StemConvolution(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion, Port& input, Tensor& output)
      : device_(device), spec_(spec), activation_(fusion.activation), input_(input), output_(output) {
    const Shape& in = spec.input_shapes.front();
    stem_ = {static_cast<unsigned>(in[1]), static_cast<unsigned>(in[2]), static_cast<unsigned>(spec.output_shape[1] / 2),
             static_cast<unsigned>(spec.output_shape[2] / 2), static_cast<unsigned>(spec.output_shape[0])};
    int processors = 0;
    check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device.index()), "asking what a device is");
    blocks_ = static_cast<unsigned>(processors) * kBlocksPerProcessor;
    partial_ = device_array<float>(device, blocks_ * (spec.weights.size() + spec.bias.size()));
  }

  void reserve(std::size_t samples) override { choice_ = device_array<std::uint8_t>(device_, output_.size(samples)); }

  void forward(const Work& work) override {
    if (work.samples == 0) return;
    const auto n = static_cast<unsigned>(work.samples);
    const float* const bias = with_bias() ? work.weights + spec_.bias.begin : nullptr;
    with_activation(activation_, [&](auto chosen) {
      stem_forward<decltype(chosen)::value><<<std::min(n, blocks_), stem_.places() * (stem_.channels / kGroup),
                                              stem_.channels * kTapsPadded * sizeof(float), device_.queue()>>>(
          stem_, input_.tensor->value, work.weights + spec_.weights.begin, bias, output_.value, choice_.data(), n);
    });
    check(cudaGetLastError(), "computing a convolution");
  }

  void backward(const Work& work) override {
    float* const to = work.gradients + spec_.weights.begin;
    const std::size_t size = spec_.weights.size() + spec_.bias.size();  // they lie one behind the other
    if (work.samples == 0) {
      device_.zero(to, size * sizeof(float));
      return;
    }
    const auto n = static_cast<unsigned>(work.samples);
    const unsigned blocks = std::min(n, blocks_);
    with_activation(activation_, [&](auto chosen) {
      stem_backward<decltype(chosen)::value><<<blocks, stem_.channels * 32, 0, device_.queue()>>>(
          stem_, input_.tensor->value, output_.value, output_.gradient, choice_.data(), partial_.data(), n, with_bias());
    });
    check(cudaGetLastError(), "computing a convolution's gradient");
    add_partials(device_, partial_.data(), blocks, size, to);
  }

 private:
  bool with_bias() const { return spec_.bias.size() > 0; }

  CudaDevice& device_;
  const LayerSpec spec_;
  Activation activation_;
  Port& input_;
  Tensor& output_;
  Stem stem_{};
  unsigned blocks_ = 0;
  Array<float> partial_;
  Array<std::uint8_t> choice_;
};

}  // namespace

bool is_stem(const LayerSpec& spec, const Fusion& fusion, const Tensor& input) {
  const Shape& in = spec.input_shapes.front();
  const LayerConfig& config = spec.config;
  if (fusion.pool == nullptr || input.wanted || in[0] != 1) return false;
  for (const int axis : {0, 1}) {
    if (config.kernel[axis] != kKernel || config.stride[axis] != 1 || config.padding[axis] != 0) return false;
    if (fusion.pool->config.kernel[axis] != 2 || spec.output_shape[static_cast<std::size_t>(axis) + 1] % 2 != 0) return false;
  }
  const std::size_t threads = spec.output_shape[1] * spec.output_shape[2] / 4 * (spec.output_shape[0] / kGroup);
  return in[1] * in[2] <= kMostPixels && spec.output_shape[0] % kGroup == 0 && spec.output_shape[0] <= 32 &&
         threads <= kMostThreads;
}

std::unique_ptr<Layer> make_stem_convolution(CudaDevice& device, const LayerSpec& spec, const Fusion& fusion, Port& input,
                                             Tensor& output) {
  return std::make_unique<StemConvolution>(device, spec, fusion, input, output);
}

}  // namespace mgcompare::cuda
