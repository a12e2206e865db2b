#include <algorithm>

#include "cuda/activation_math.h"
#include "cuda/launch.h"
#include "cuda/max_pool_2x2.h"
#include "cuda/stem_kernels.h"

namespace mgcompare::cuda::stem::fp32 {
namespace {

constexpr unsigned kTapsPadded = 28;      // whole float4s
constexpr unsigned kGroup = 5;            // channels per thread, which share its patch of the image
constexpr unsigned kMaxThreads = 640;     // leaves enough registers per thread for its patch

__device__ void load_image(float* image, const Call& call, unsigned sample) {
  const unsigned pixels = call.shape.height * call.shape.width;
  for (unsigned i = threadIdx.x; i < pixels; i += blockDim.x)
    image[i] = __ldcg(call.in + static_cast<std::size_t>(sample) * pixels + i);
}

// A thread computes one pixel of the pooled image, for kGroup channels.
template <Activation A> __global__ void __launch_bounds__(kMaxThreads) convolve(Call call) {
  const Shape& s = call.shape;
  __shared__ __align__(16) float image[kMaxPixels];
  extern __shared__ __align__(16) float taps[];  // (channels, kTapsPadded)
  wait_for_previous_kernel();
  for (unsigned i = threadIdx.x; i < s.channels * kTaps; i += blockDim.x)
    taps[i / kTaps * kTapsPadded + i % kTaps] = call.weights[i];
  const unsigned place = threadIdx.x % s.places(), group = threadIdx.x / s.places();
  const unsigned y = place / s.across, x = place % s.across;
  for (unsigned n = blockIdx.x; n < call.samples; n += gridDim.x) {
    __syncthreads();
    load_image(image, call, n);
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
      const WindowMax best = window_max(sum);
      const std::size_t at = (static_cast<std::size_t>(n) * s.channels + c) * s.places() + place;
      call.out[at] = activated<A>(best.value + (call.bias == nullptr ? 0.0f : call.bias[c]));
      call.choice[at] = static_cast<std::uint8_t>(best.place);
    }
  }
}

// One warp per channel; its lanes share the pixels of the pooled image.
template <Activation A> __global__ void __launch_bounds__(kMaxChannels * 32) weights_back(Call call, float* partial) {
  const Shape& s = call.shape;
  __shared__ float image[kMaxPixels];
  const unsigned lane = threadIdx.x % 32, c = threadIdx.x / 32;
  float sums[kTaps] = {}, bias_sum = 0;
  wait_for_previous_kernel();
  for (unsigned n = blockIdx.x; n < call.samples; n += gridDim.x) {
    __syncthreads();
    load_image(image, call, n);
    __syncthreads();
#pragma unroll 2
    for (unsigned place = lane; place < s.places(); place += 32) {
      const std::size_t at = (static_cast<std::size_t>(n) * s.channels + c) * s.places() + place;
      const float value = activation_gradient<A>(__ldcg(call.out + at), __ldcg(call.gradient + at));
      const unsigned winner = __ldcg(call.choice + at);
      const float* const window =
          &image[(place / s.across * 2 + winner / 2) * s.width + place % s.across * 2 + winner % 2];
#pragma unroll
      for (unsigned i = 0; i < kTaps; ++i) sums[i] += value * window[i / kKernel * s.width + i % kKernel];
      bias_sum += value;
    }
  }
  const bool with_bias = call.bias != nullptr;
  float* const to = partial + static_cast<std::size_t>(blockIdx.x) * s.channels * (kTaps + (with_bias ? 1 : 0));
#pragma unroll
  for (unsigned i = 0; i < kTaps; ++i) {
    const float sum = warp_sum(sums[i]);
    if (lane == 0) to[c * kTaps + i] = sum;
  }
  bias_sum = warp_sum(bias_sum);
  if (lane == 0 && with_bias) to[s.channels * kTaps + c] = bias_sum;
}

unsigned blocks(const Call& call) { return std::min(call.samples, max_blocks(call.processors)); }

}  // namespace

bool serves(const Shape& s) {
  return s.height * s.width <= kMaxPixels && s.channels % kGroup == 0 && s.channels <= kMaxChannels &&
         s.places() * (s.channels / kGroup) <= kMaxThreads;
}

void forward(const Call& call) {
  const Shape& s = call.shape;
  with_activation(call.activation, [&](auto chosen) {
    launch(call.stream, blocks(call), s.places() * (s.channels / kGroup), s.channels * kTapsPadded * sizeof(float),
           convolve<decltype(chosen)::value>, call);
  });
}

unsigned backward(const Call& call, float* partial) {
  with_activation(call.activation, [&](auto chosen) {
    launch(call.stream, blocks(call), call.shape.channels * 32, 0, weights_back<decltype(chosen)::value>, call, partial);
  });
  return blocks(call);
}

}  // namespace mgcompare::cuda::stem::fp32
