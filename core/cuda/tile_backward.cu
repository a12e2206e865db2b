#include "activate.h"
#include "launch.h"
#include "tile_memory.h"

namespace mgcompare::cuda::tile {
namespace {

// What a thread needs of kOfBlock of a sample's windows, every kThreads-th of them: loaded in one go, and long before it is
// used where there is other work until then.
template <Activation A, unsigned kThreads, unsigned kOfBlock = kWindows> class Windows {
 public:
  // From window `first` on.
  __device__ void load(const Call& call, unsigned sample, unsigned first = 0) {
#pragma unroll
    for (unsigned k = 0; k < kCount; ++k) {
      const unsigned i = threadIdx.x + k * kThreads;
      if (i >= kOfBlock || first + i >= kWindows) continue;
      const std::size_t at = static_cast<std::size_t>(sample) * kWindows + first + i;
      winner_[k] = __ldg(call.choice + at);
      out_[k] = __ldg(call.out + at);
      gradient_[k] = __ldg(call.gradient + at);
    }
  }
  // f(window from the first, row and column of its winner in the 8 x 8 image, gradient before the activation)
  template <class F> __device__ void each(F f, unsigned first = 0) const {
#pragma unroll
    for (unsigned k = 0; k < kCount; ++k) {
      const unsigned i = threadIdx.x + k * kThreads;
      if (i >= kOfBlock || first + i >= kWindows) continue;
      f(i, i / kPooled % kPooled * 2 + winner_[k] / 2, i % kPooled * 2 + winner_[k] % 2, slope<A>(out_[k], gradient_[k]));
    }
  }

 private:
  static constexpr unsigned kCount = (kOfBlock + kThreads - 1) / kThreads;
  unsigned winner_[kCount];
  float out_[kCount], gradient_[kCount];
};

// Outputs x terms += gradient (outputs x 64 pixels) times windows (64 pixels x terms); 16 warps share the terms. Block
// (samples, outputs): with all outputs in a block each window is read for the most products; with half of them it has half
// the registers, so that the other gradient's kernel runs beside it on each processor, and a block has twice the samples, so
// that half as many partial sums are stored and added.
constexpr unsigned kWeightWarps = 16, kRowOfPixels = kOut * kOut + 4, kTilesOfOutputs = 4;
constexpr unsigned kTermTiles = kTermsPadded / 8, kTilesOfWarp = (kTermTiles + kWeightWarps - 1) / kWeightWarps;
static_assert(kTerms % 2 == 0 && (kWeights + kOutputs) % 2 == 0, "pairs of partial sums are stored in one go");

template <unsigned kTiles> struct Weights {
  static constexpr unsigned kOfBlock = kTiles * 16;                      // outputs
  static constexpr unsigned kWindowsOfBlock = kOfBlock * kPooled * kPooled;
  static constexpr unsigned kBytes = (kOfBlock * kRowOfPixels + kPixels + kWindowsOfBlock) * sizeof(float);
};

template <Activation A, unsigned kTiles>
__global__ void __launch_bounds__(kWeightWarps * 32, kTiles < kTilesOfOutputs ? 2 : 1)
    weights_back(Call call, float* partial) {
  using W = Weights<kTiles>;
  extern __shared__ __align__(16) float memory[];
  float* const image = memory;
  float* const gradients = image + kPixels;                             // (kOfBlock, kRowOfPixels)
  float* const of_window = gradients + W::kOfBlock * kRowOfPixels;
  const unsigned warp = threadIdx.x / 32, row = threadIdx.x % 32 / 4, column = threadIdx.x % 4;
  const unsigned first_output = blockIdx.y * W::kOfBlock, first_window = first_output * kPooled * kPooled;
  unsigned offsets[kTilesOfWarp];
#pragma unroll
  for (unsigned n = 0; n < kTilesOfWarp; ++n) offsets[n] = term_offset((warp + n * kWeightWarps) * 8 + row);
  float sums[kTiles][kTilesOfWarp][4] = {}, bias_sum = 0;
  Windows<A, kWeightWarps * 32, W::kWindowsOfBlock> windows;
  const bool has_bias = threadIdx.x < W::kOfBlock && first_output + threadIdx.x < kOutputs;
  for (unsigned sample = blockIdx.x; sample < call.samples; sample += gridDim.x) {
    windows.load(call, sample, first_window);
    __syncthreads();
    load_image(image, call.in + static_cast<std::size_t>(sample) * kPixels);
    for (unsigned i = threadIdx.x; i < W::kOfBlock * kRowOfPixels / 4; i += blockDim.x)
      reinterpret_cast<float4*>(gradients)[i] = make_float4(0, 0, 0, 0);
    __syncthreads();
    windows.each(
        [&](unsigned i, unsigned y, unsigned x, float value) {
          of_window[i] = value;
          gradients[i / (kPooled * kPooled) * kRowOfPixels + y * kOut + x] = to_tf32(value);
        },
        first_window);
    __syncthreads();
    if (has_bias) {
      for (unsigned i = 0; i < kPooled * kPooled; ++i) bias_sum += of_window[threadIdx.x * kPooled * kPooled + i];
    }
#pragma unroll 2
    for (unsigned y = 0; y < kOut; ++y) {
      float a[kTiles][4];
#pragma unroll
      for (unsigned m = 0; m < kTiles; ++m) {
        const float* const line = gradients + (m * 16 + row) * kRowOfPixels + y * kOut + column;
        a[m][0] = line[0];
        a[m][1] = line[8 * kRowOfPixels];
        a[m][2] = line[4];
        a[m][3] = line[8 * kRowOfPixels + 4];
      }
#pragma unroll
      for (unsigned n = 0; n < kTilesOfWarp; ++n) {
        const float* const pixel = image + offsets[n] + y * kSize + column;
        const float b[2] = {pixel[0], pixel[4]};
#pragma unroll
        for (unsigned m = 0; m < kTiles; ++m) multiply_add(sums[m][n], a[m], b);
      }
    }
  }
  float* const to = partial + static_cast<std::size_t>(blockIdx.x) * (kWeights + kOutputs);
#pragma unroll
  for (unsigned m = 0; m < kTiles; ++m) {
#pragma unroll
    for (unsigned n = 0; n < kTilesOfWarp; ++n) {
#pragma unroll
      for (unsigned j = 0; j < 4; j += 2) {
        // In pairs: a small batch spends a quarter of the kernel on these stores.
        const unsigned output = first_output + m * 16 + row + j / 2 * 8, term = (warp + n * kWeightWarps) * 8 + 2 * column;
        if (output < kOutputs && term < kTerms)
          *reinterpret_cast<float2*>(to + output * kTerms + term) = make_float2(sums[m][n][j], sums[m][n][j + 1]);
      }
    }
  }
  if (has_bias) to[kWeights + first_output + threadIdx.x] = bias_sum;
}

// Pixels (144) x channels += gradients, with a border of zeros, times the weights turned round. The terms are shared by
// four groups of warps, whose sums are added at the end.
constexpr unsigned kBordered = kOut + 2 * (kKernel - 1);                // 16
constexpr unsigned kParts = 4, kPixelWarps = 3, kDataWarps = kParts * kPixelWarps;
constexpr unsigned kStepsOfPart = (kDataTerms + 8 * kParts - 1) / (8 * kParts);
constexpr unsigned kDataTermsPadded = kStepsOfPart * 8 * kParts;        // 1280
static_assert(kRowOfData == kDataTermsPadded + 4);
constexpr unsigned kBorderedSize = kOutputs * kBordered * kBordered;
constexpr unsigned kScratch = kBorderedSize > kParts * kPixels ? kBorderedSize : kParts * kPixels;
constexpr unsigned kDataBytes =
    (kRowsBackward * kRowOfData + kScratch) * sizeof(float) + kDataTermsPadded * sizeof(std::uint16_t);

// Blocks take samples one by one from a queue instead of in fixed shares: an exchange that runs beside this kernel holds
// some processors for a while, and a fixed share of one of those would end that much later. Which block computes a sample's
// gradient changes nothing about it. Without a queue each block has one sample: small batches need no more, and the code for
// several costs them 2 us.
template <Activation A, bool kQueued>
__global__ void __launch_bounds__(kDataWarps * 32) data_back(Call call, Queue* queue, float* to) {
  extern __shared__ __align__(16) float memory[];
  __shared__ unsigned next;
  float* const weights = memory;                                        // (kRowsBackward, kRowOfData)
  float* const bordered = weights + kRowsBackward * kRowOfData;       // (kOutputs, kBordered, kBordered); then sums
  std::uint16_t* const offsets = reinterpret_cast<std::uint16_t*>(bordered + kScratch);
  start_copy(weights, call.packed + kPackedForward, kRowsBackward * kRowOfData);
  for (unsigned i = threadIdx.x; i < kDataTermsPadded; i += blockDim.x) {
    const unsigned tap = i % kTaps;
    offsets[i] = static_cast<std::uint16_t>(
        i >= kDataTerms ? 0
                        : i / kTaps * kBordered * kBordered + (kKernel - 1 - tap / kKernel) * kBordered + kKernel - 1 -
                              tap % kKernel);
  }
  const unsigned warp = threadIdx.x / 32, row = threadIdx.x % 32 / 4, column = threadIdx.x % 4;
  const unsigned part = warp / kPixelWarps, first_pixel = warp % kPixelWarps * 48;
  unsigned pixels[6];
#pragma unroll
  for (unsigned k = 0; k < 6; ++k) {
    const unsigned pixel = first_pixel + k * 8 + row;
    pixels[k] = pixel / kSize * kBordered + pixel % kSize;
  }
  Windows<A, kDataWarps * 32> windows;
  unsigned sample = blockIdx.x, following = call.samples;
  windows.load(call, sample);
  do {
    __syncthreads();
    unsigned taken = 0;
    if constexpr (kQueued) {
      if (threadIdx.x == 0) taken = gridDim.x + atomicAdd(&queue->taken, 1u);   // under way until it is needed
    }
    for (unsigned i = threadIdx.x; i < kBorderedSize / 4; i += blockDim.x)
      reinterpret_cast<float4*>(bordered)[i] = make_float4(0, 0, 0, 0);
    __syncthreads();
    windows.each([&](unsigned i, unsigned y, unsigned x, float value) {
      bordered[(i / (kPooled * kPooled) * kBordered + y + kKernel - 1) * kBordered + x + kKernel - 1] = to_tf32(value);
    });
    if (kQueued && threadIdx.x == 0) next = taken;
    __pipeline_wait_prior(0);
    __syncthreads();
    if constexpr (kQueued) {
      following = next;
      if (following < call.samples) windows.load(call, following);
    }
    float sums[3][3][4] = {};
#pragma unroll 2
    for (unsigned step = 0; step < kStepsOfPart; ++step) {
      const unsigned t = (part * kStepsOfPart + step) * 8 + column;
      const float* const near = bordered + offsets[t];
      const float* const far = bordered + offsets[t + 4];
      float b[3][2];
#pragma unroll
      for (unsigned n = 0; n < 3; ++n) {
        b[n][0] = weights[(n * 8 + row) * kRowOfData + t];
        b[n][1] = weights[(n * 8 + row) * kRowOfData + t + 4];
      }
#pragma unroll
      for (unsigned m = 0; m < 3; ++m) {
        const float a[4] = {near[pixels[2 * m]], near[pixels[2 * m + 1]], far[pixels[2 * m]], far[pixels[2 * m + 1]]};
#pragma unroll
        for (unsigned n = 0; n < 3; ++n) multiply_add(sums[m][n], a, b[n]);
      }
    }
    __syncthreads();
    float* const own = bordered + part * kPixels;
#pragma unroll
    for (unsigned m = 0; m < 3; ++m) {
#pragma unroll
      for (unsigned n = 0; n < 3; ++n) {
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) {
          const unsigned channel = n * 8 + 2 * column + j % 2, pixel = first_pixel + m * 16 + row + j / 2 * 8;
          if (channel < kChannels) own[channel * kArea + pixel] = sums[m][n][j];
        }
      }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < kPixels; i += blockDim.x) {
      float sum = bordered[i];
      for (unsigned k = 1; k < kParts; ++k) sum += bordered[k * kPixels + i];
      to[static_cast<std::size_t>(sample) * kPixels + i] = sum;
    }
    sample = following;
  } while (sample < call.samples);
  // The last block leaves the queue as it found it, for the next step.
  if (!kQueued || threadIdx.x != 0 || atomicAdd(&queue->left, 1u) != gridDim.x - 1) return;
  queue->taken = 0;
  queue->left = 0;
}

}  // namespace

bool prepare_backward(Activation activation) {
  bool fits = false;
  with_activation(activation, [&](auto chosen) {
    constexpr Activation A = decltype(chosen)::value;
    fits = allow(weights_back<A, 2>, Weights<2>::kBytes) && allow(weights_back<A, 4>, Weights<4>::kBytes) &&
           allow(data_back<A, false>, kDataBytes) && allow(data_back<A, true>, kDataBytes);
  });
  return fits;
}

unsigned backward_weights(const Call& call, float* partial) {
  const bool halved = call.samples <= 2 * call.processors;
  const unsigned blocks = std::min(call.samples, halved ? call.processors / 2 : call.processors);
  with_activation(call.activation, [&](auto chosen) {
    constexpr Activation A = decltype(chosen)::value;
    if (halved) weights_back<A, 2><<<dim3(blocks, kTilesOfOutputs / 2), kWeightWarps * 32, Weights<2>::kBytes, call.stream>>>(call, partial);
    else weights_back<A, 4><<<blocks, kWeightWarps * 32, Weights<4>::kBytes, call.stream>>>(call, partial);
  });
  check(cudaGetLastError(), kWhat);
  return blocks;
}

void backward_data(const Call& call, Queue* queue, float* to) {
  with_activation(call.activation, [&](auto chosen) {
    constexpr Activation A = decltype(chosen)::value;
    if (call.samples <= call.processors) {
      data_back<A, false><<<call.samples, kDataWarps * 32, kDataBytes, call.stream>>>(call, nullptr, to);
    } else {
      data_back<A, true><<<call.processors, kDataWarps * 32, kDataBytes, call.stream>>>(call, queue, to);
    }
  });
  check(cudaGetLastError(), kWhat);
}

}  // namespace mgcompare::cuda::tile
