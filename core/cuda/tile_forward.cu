#include "cuda/activation_math.h"
#include "cuda/launch.h"
#include "cuda/max_pool_2x2.h"
#include "cuda/tile_memory.h"

namespace mgcompare::cuda::tile {
namespace {

// A block computes kSamples samples at a time, each with kHalves x kGroups warps, which split the image's rows and the
// outputs. Larger parts per warp mean more products per load.
constexpr unsigned kWarps = 8;
template <unsigned kSamples> struct Forward {
  static constexpr unsigned kHalves = kSamples < kWarps ? 2 : 1, kGroups = kWarps / kSamples / kHalves;
  static constexpr unsigned kRowPairs = kOut / 2 / kHalves;             // of one warp
  static constexpr unsigned kTiles = (7 + kGroups - 1) / kGroups;       // of 8 outputs, of one warp
  static constexpr unsigned kRows = kTiles * kGroups * 8;
  static constexpr unsigned kBytes = (kRows * kRowOfTerms + kSamples * kPixels + kTermsPadded) * sizeof(float);
};

template <Activation A, unsigned kSamples>
__global__ void __launch_bounds__(kWarps * 32) convolve(Call call) {
  using F = Forward<kSamples>;
  extern __shared__ __align__(16) float memory[];
  float* const weights = memory;                                        // (kRows, kRowOfTerms)
  float* const images = weights + F::kRows * kRowOfTerms;
  unsigned* const offsets = reinterpret_cast<unsigned*>(images + kSamples * kPixels);
  for (unsigned i = threadIdx.x; i < kTermsPadded; i += blockDim.x) offsets[i] = term_offset(i);
  wait_for_previous_kernel();
  start_copy(weights, call.packed, F::kRows * kRowOfTerms);
  const unsigned warp = threadIdx.x / 32, row = threadIdx.x % 32 / 4, column = threadIdx.x % 4;
  const unsigned slot = warp / (F::kHalves * F::kGroups), first_row = warp % F::kHalves * (kOut / 2);
  const unsigned first_output = warp / F::kHalves % F::kGroups * F::kTiles * 8;
  for (unsigned first = blockIdx.x * kSamples; first < call.samples; first += gridDim.x * kSamples) {
    __syncthreads();
    for (unsigned k = 0; k < kSamples && first + k < call.samples; ++k)
      load_image(images + k * kPixels, call.in + static_cast<std::size_t>(first + k) * kPixels);
    __pipeline_wait_prior(0);
    __syncthreads();
    const unsigned sample = first + slot;
    if (sample >= call.samples) continue;
    float sums[F::kRowPairs][F::kTiles][4] = {};
    const float* const image = images + slot * kPixels + first_row * kSize + row;
#pragma unroll 3
    for (unsigned t = 0; t < kTermsPadded; t += 8) {
      const unsigned near = offsets[t + column], far = offsets[t + column + 4];
      float a[F::kRowPairs][4];
#pragma unroll
      for (unsigned m = 0; m < F::kRowPairs; ++m) {
        const float* const window = image + 2 * m * kSize;
        a[m][0] = window[near];
        a[m][1] = window[kSize + near];
        a[m][2] = window[far];
        a[m][3] = window[kSize + far];
      }
#pragma unroll
      for (unsigned n = 0; n < F::kTiles; ++n) {
        const float* const line = weights + (first_output + n * 8 + row) * kRowOfTerms + t + column;
        const float b[2] = {line[0], line[4]};
#pragma unroll
        for (unsigned m = 0; m < F::kRowPairs; ++m) multiply_add(sums[m][n], a[m], b);
      }
    }
    // A thread has one column of two image rows; the other column of the window is four lanes away.
#pragma unroll
    for (unsigned m = 0; m < F::kRowPairs; ++m) {
#pragma unroll
      for (unsigned n = 0; n < F::kTiles; ++n) {
#pragma unroll
        for (unsigned j = 0; j < 2; ++j) {
          const float top = sums[m][n][j], bottom = sums[m][n][2 + j];
          const float right[2] = {__shfl_down_sync(0xffffffffu, top, 4), __shfl_down_sync(0xffffffffu, bottom, 4)};
          const unsigned output = first_output + n * 8 + 2 * column + j;
          if (row % 2 != 0 || output >= kOutputs) continue;
          const WindowMax best = window_max({top, right[0], bottom, right[1]});
          const std::size_t at = (static_cast<std::size_t>(sample) * kOutputs + output) * kPooled * kPooled +
                                 (first_row / 2 + m) * kPooled + row / 2;
          call.out[at] = activated<A>(best.value + (call.bias == nullptr ? 0.0f : call.bias[output]));
          call.choice[at] = static_cast<std::uint8_t>(best.place);
        }
      }
    }
  }
}

}  // namespace

bool prepare_forward(Activation activation) {
  bool fits = false;
  with_activation(activation, [&](auto chosen) {
    constexpr Activation A = decltype(chosen)::value;
    fits = request_shared_memory(convolve<A, 1>, Forward<1>::kBytes) &&
           request_shared_memory(convolve<A, 4>, Forward<4>::kBytes) &&
           request_shared_memory(convolve<A, 8>, Forward<8>::kBytes);
  });
  return fits;
}

void pack(cudaStream_t stream, const float* weights, float* packed) {
  for_each_index(stream, kPacked, [=] __device__(std::size_t index) {
    const auto i = static_cast<unsigned>(index);
    float value = 0;
    if (i < kPackedForward) {
      const unsigned output = i / kRowOfTerms, term = i % kRowOfTerms;
      if (output < kOutputs && term < kTerms) value = weights[output * kTerms + term];
    } else {
      const unsigned line = (i - kPackedForward) / kRowOfData, term = (i - kPackedForward) % kRowOfData;
      const unsigned kernel_row = line / kRowsBackward, channel = line % kRowsBackward;
      if (channel < kChannels && term < kDataTerms)
        value = weights[term / kKernel * kTerms + channel * kTaps + kernel_row * kKernel + term % kKernel];
    }
    packed[i] = to_tf32(value);
  });
}

void forward(const Call& call) {
  with_activation(call.activation, [&](auto chosen) {
    constexpr Activation A = decltype(chosen)::value;
    // Small batches: one sample per block, to occupy all multiprocessors.
    if (call.samples <= 2 * call.processors) {
      launch(call.stream, std::min(call.samples, call.processors), kWarps * 32, Forward<1>::kBytes, convolve<A, 1>, call);
    } else if (call.samples <= 4 * call.processors) {
      launch(call.stream, call.processors, kWarps * 32, Forward<4>::kBytes, convolve<A, 4>, call);
    } else {
      launch(call.stream, call.processors, kWarps * 32, Forward<8>::kBytes, convolve<A, 8>, call);
    }
  });
}

}  // namespace mgcompare::cuda::tile
