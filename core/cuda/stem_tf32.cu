#include <algorithm>

#include "cuda/activation_math.h"
#include "cuda/launch.h"
#include "cuda/max_pool_2x2.h"
#include "cuda/stem_kernels.h"
#include "cuda/tensor_core.h"

namespace mgcompare::cuda::stem::tf32 {
namespace {

constexpr unsigned kTapSteps = 4, kTapsPadded = kTapSteps * 8;          // 25 taps, padded to 32
constexpr unsigned kColumnTiles = 3, kColumns = kColumnTiles * 8;       // maximum number of channels

// Prefetches a sample's image into registers while the previous sample is computed; store() writes it to shared memory.
template <unsigned kThreads> class Image {
 public:
  __device__ void load(const Call& call, unsigned sample) {
    const unsigned pixels = call.shape.height * call.shape.width;
#pragma unroll
    for (unsigned k = 0; k < kCount; ++k) {
      const unsigned i = min(threadIdx.x + k * kThreads, pixels - 1);
      values_[k] = __ldcg(call.in + static_cast<std::size_t>(sample) * pixels + i);
    }
  }
  __device__ void store(const Call& call, float* image) const {
    const unsigned pixels = call.shape.height * call.shape.width;
#pragma unroll
    for (unsigned k = 0; k < kCount; ++k) {
      const unsigned i = threadIdx.x + k * kThreads;
      if (i < pixels) image[i] = to_tf32(values_[k]);
    }
  }

 private:
  static constexpr unsigned kCount = (kMaxPixels + kThreads - 1) / kThreads;
  float values_[kCount];
};

__device__ inline unsigned tap_offset(unsigned tap, unsigned width) { return tap / kKernel * width + tap % kKernel; }

// Product of (pixels, taps) and (taps, channels). The rows of two products are the four pixels of eight windows, so that a
// thread has all four pixels of its window: left and right ones 8 rows apart, upper and lower ones in the two products.
constexpr unsigned kForwardWarps = 9;

template <Activation A> __global__ void __launch_bounds__(kForwardWarps * 32, 2) convolve(Call call) {
  const Shape& s = call.shape;
  __shared__ float image[kMaxPixels];
  const unsigned warp = threadIdx.x / 32, row = threadIdx.x % 32 / 4, column = threadIdx.x % 4;
  wait_for_previous_kernel();
  float weights[kTapSteps][kColumnTiles][2], bias[kColumnTiles][2];
  unsigned offsets[kTapSteps][2];
#pragma unroll
  for (unsigned k = 0; k < kTapSteps; ++k) {
#pragma unroll
    for (unsigned h = 0; h < 2; ++h) {
      const unsigned tap = k * 8 + h * 4 + column;
      offsets[k][h] = tap < kTaps ? tap_offset(tap, s.width) : 0;
      // Missing elements repeat the last one: with a branch only one load would be in flight.
#pragma unroll
      for (unsigned n = 0; n < kColumnTiles; ++n)
        weights[k][n][h] = call.weights[min(n * 8 + row, s.channels - 1) * kTaps + min(tap, kTaps - 1)];
    }
  }
#pragma unroll
  for (unsigned n = 0; n < kColumnTiles; ++n) {
#pragma unroll
    for (unsigned j = 0; j < 2; ++j) {
      const unsigned c = n * 8 + 2 * column + j;
      bias[n][j] = call.bias == nullptr ? 0.0f : call.bias[min(c, s.channels - 1)];
    }
  }
  Image<kForwardWarps * 32> next;
  next.load(call, blockIdx.x);
#pragma unroll
  for (unsigned k = 0; k < kTapSteps; ++k) {
#pragma unroll
    for (unsigned h = 0; h < 2; ++h) {
#pragma unroll
      for (unsigned n = 0; n < kColumnTiles; ++n)
        weights[k][n][h] = k * 8 + h * 4 + column < kTaps ? to_tf32(weights[k][n][h]) : 0.0f;
    }
  }
  for (unsigned sample = blockIdx.x; sample < call.samples; sample += gridDim.x) {
    __syncthreads();
    next.store(call, image);
    __syncthreads();
    if (sample + gridDim.x < call.samples) next.load(call, sample + gridDim.x);
    float* const out = call.out + static_cast<std::size_t>(sample) * s.channels * s.places();
    std::uint8_t* const choice = call.choice + static_cast<std::size_t>(sample) * s.channels * s.places();
    for (unsigned first = warp * 8; first < s.places(); first += kForwardWarps * 8) {
      const unsigned place = min(first + row, s.places() - 1);
      const float* const upper = image + place / s.across * 2 * s.width + place % s.across * 2;
      const float* const lower = upper + s.width;
      float sums[2][kColumnTiles][4] = {};
#pragma unroll
      for (unsigned k = 0; k < kTapSteps; ++k) {
        const unsigned near = offsets[k][0], far = offsets[k][1];
        const float a[2][4] = {{upper[near], upper[near + 1], upper[far], upper[far + 1]},
                               {lower[near], lower[near + 1], lower[far], lower[far + 1]}};
#pragma unroll
        for (unsigned n = 0; n < kColumnTiles; ++n) {
          multiply_add(sums[0][n], a[0], weights[k][n]);
          multiply_add(sums[1][n], a[1], weights[k][n]);
        }
      }
      if (first + row >= s.places()) continue;
#pragma unroll
      for (unsigned n = 0; n < kColumnTiles; ++n) {
#pragma unroll
        for (unsigned j = 0; j < 2; ++j) {
          const unsigned c = n * 8 + 2 * column + j;
          if (c >= s.channels) continue;
          const WindowMax best = window_max({sums[0][n][j], sums[0][n][2 + j], sums[1][n][j], sums[1][n][2 + j]});
          out[c * s.places() + place] = activated<A>(best.value + bias[n][j]);
          choice[c * s.places() + place] = static_cast<std::uint8_t>(best.place);
        }
      }
    }
  }
}

// Product of (taps, pixels) and (pixels, channels). The gradient before pooling, mostly zeros, is in shared memory; the warps
// split the pixels.
constexpr unsigned kBackWarps = 8, kBackThreads = kBackWarps * 32;
constexpr unsigned kMaxQuads = 3;          // per thread; a quad is four adjacent windows

unsigned row_of_pixels(const Shape& s) { return 4 * s.places() + 4; }   // + 4 avoids bank conflicts
unsigned back_bytes(const Shape& s) {
  const unsigned sums = kBackWarps * kTapsPadded * kColumns, gradients = kColumns * row_of_pixels(s);
  return std::max(sums, gradients) * static_cast<unsigned>(sizeof(float));
}
// For the largest image, 32 x 32: a kernel's shared-memory limit applies to all networks on a device.
constexpr unsigned kMaxOfRow = 28 * 28 + 4, kMaxBytes = kColumns * kMaxOfRow * sizeof(float);
static_assert(kMaxPixels == 32 * 32);

// A thread's windows of a sample, prefetched into registers.
class Quads {
 public:
  __device__ void load(const Call& call, unsigned sample) {
    const unsigned quads = call.shape.channels * call.shape.places() / 4;
#pragma unroll
    for (unsigned k = 0; k < kMaxQuads; ++k) {
      const unsigned i = threadIdx.x + k * kBackThreads;
      if (i >= quads) continue;
      const std::size_t at = static_cast<std::size_t>(sample) * quads + i;
      out_[k] = __ldcg(reinterpret_cast<const float4*>(call.out) + at);
      gradient_[k] = __ldcg(reinterpret_cast<const float4*>(call.gradient) + at);
      choice_[k] = __ldcg(reinterpret_cast<const uchar4*>(call.choice) + at);
    }
  }
  // Writes all pixels of the windows, (channels, row): the gradient before the activation at the maximum, zero elsewhere.
  template <Activation A> __device__ void store(const Shape& s, float* gradients, unsigned row) const {
    const unsigned quads = s.channels * s.places() / 4;
#pragma unroll
    for (unsigned k = 0; k < kMaxQuads; ++k) {
      const unsigned i = threadIdx.x + k * kBackThreads;
      if (i >= quads) continue;
      const unsigned channel = 4 * i / s.places(), place = 4 * i % s.places();
      const float values[4] = {
          activation_gradient<A>(out_[k].x, gradient_[k].x), activation_gradient<A>(out_[k].y, gradient_[k].y),
          activation_gradient<A>(out_[k].z, gradient_[k].z), activation_gradient<A>(out_[k].w, gradient_[k].w)};
      const unsigned winners[4] = {choice_[k].x, choice_[k].y, choice_[k].z, choice_[k].w};
      float* const to = gradients + channel * row + place / s.across * 4 * s.across + place % s.across * 2;
#pragma unroll
      for (unsigned line = 0; line < 2; ++line) {
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
          const auto pixel = [&](unsigned window, unsigned side) {
            return winners[window] == 2 * line + side ? to_tf32(values[window]) : 0.0f;
          };
          reinterpret_cast<float4*>(to + line * 2 * s.across)[half] =
              make_float4(pixel(2 * half, 0), pixel(2 * half, 1), pixel(2 * half + 1, 0), pixel(2 * half + 1, 1));
        }
      }
    }
  }

 private:
  float4 out_[kMaxQuads], gradient_[kMaxQuads];
  uchar4 choice_[kMaxQuads];
};

template <Activation A> __global__ void __launch_bounds__(kBackThreads, kBlocksPerProcessor)
weights_back(Call call, unsigned row_of_pixels, float* partial) {
  const Shape& s = call.shape;
  __shared__ float image[kMaxPixels];
  extern __shared__ __align__(16) float gradients[];                    // (kColumns, row_of_pixels); then sums
  const unsigned warp = threadIdx.x / 32, row = threadIdx.x % 32 / 4, column = threadIdx.x % 4;
  for (unsigned i = s.channels * row_of_pixels + threadIdx.x; i < kColumns * row_of_pixels; i += kBackThreads)
    gradients[i] = 0;
  unsigned offsets[4];
#pragma unroll
  for (unsigned k = 0; k < 4; ++k) offsets[k] = k * 8 + row < kTaps ? tap_offset(k * 8 + row, s.width) : 0;
  // Only the first of the last eight taps exists. The second stands for the bias, whose input is always 1.
  const bool last_tap = 24 + row < kTaps;
  const float beyond = 24 + row == kTaps ? 1.0f : 0.0f;
  float sums[2][kColumnTiles][4] = {};
  wait_for_previous_kernel();
  Image<kBackThreads> next_image;
  Quads next;
  next_image.load(call, blockIdx.x);
  next.load(call, blockIdx.x);
  for (unsigned sample = blockIdx.x; sample < call.samples; sample += gridDim.x) {
    __syncthreads();
    next_image.store(call, image);
    next.store<A>(s, gradients, row_of_pixels);
    __syncthreads();
    if (sample + gridDim.x < call.samples) {
      next_image.load(call, sample + gridDim.x);
      next.load(call, sample + gridDim.x);
    }
    for (unsigned pixel = warp * 8; pixel < 4 * s.places(); pixel += kBackWarps * 8) {
      const float* const window = image + pixel / (2 * s.across) * s.width + pixel % (2 * s.across) + column;
      const float* const line = gradients + row * row_of_pixels + pixel + column;
      const float a[2][4] = {{window[offsets[0]], window[offsets[1]], window[offsets[0] + 4], window[offsets[1] + 4]},
                             {window[offsets[2]], last_tap ? window[offsets[3]] : beyond, window[offsets[2] + 4],
                              last_tap ? window[offsets[3] + 4] : beyond}};
#pragma unroll
      for (unsigned n = 0; n < kColumnTiles; ++n) {
        const float b[2] = {line[n * 8 * row_of_pixels], line[n * 8 * row_of_pixels + 4]};
        multiply_add(sums[0][n], a[0], b);
        multiply_add(sums[1][n], a[1], b);
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (unsigned m = 0; m < 2; ++m) {
#pragma unroll
    for (unsigned n = 0; n < kColumnTiles; ++n) {
#pragma unroll
      for (unsigned j = 0; j < 4; ++j)
        gradients[(warp * kTapsPadded + m * 16 + j / 2 * 8 + row) * kColumns + n * 8 + 2 * column + j % 2] = sums[m][n][j];
    }
  }
  __syncthreads();
  const unsigned weights = s.channels * kTaps, size = weights + (call.bias == nullptr ? 0 : s.channels);
  for (unsigned i = threadIdx.x; i < size; i += kBackThreads) {
    const unsigned channel = i < weights ? i / kTaps : i - weights, tap = i < weights ? i % kTaps : kTaps;
    float sum = 0;
#pragma unroll
    for (unsigned k = 0; k < kBackWarps; ++k) sum += gradients[(k * kTapsPadded + tap) * kColumns + channel];
    partial[static_cast<std::size_t>(blockIdx.x) * size + i] = sum;
  }
}

unsigned blocks(const Call& call) { return std::min(call.samples, max_blocks(call.processors)); }

}  // namespace

bool serves(const Shape& s, Activation activation) {
  // A quad must lie in one row of windows, and an 8-pixel tile in one row of pixels.
  if (s.across % 4 != 0 || s.channels > kColumns || s.channels * s.places() > 4 * kMaxQuads * kBackThreads) return false;
  if (s.height * s.width > kMaxPixels || row_of_pixels(s) > kMaxOfRow) return false;
  bool fits = false;
  with_activation(activation,
                  [&](auto chosen) { fits = request_shared_memory(weights_back<decltype(chosen)::value>, kMaxBytes); });
  return fits;
}

void forward(const Call& call) {
  with_activation(call.activation, [&](auto chosen) {
    launch(call.stream, blocks(call), kForwardWarps * 32, 0, convolve<decltype(chosen)::value>, call);
  });
}

unsigned backward(const Call& call, float* partial) {
  with_activation(call.activation, [&](auto chosen) {
    launch(call.stream, blocks(call), kBackThreads, back_bytes(call.shape), weights_back<decltype(chosen)::value>, call,
           row_of_pixels(call.shape), partial);
  });
  return blocks(call);
}

}  // namespace mgcompare::cuda::stem::tf32
