#include "cuda/activation_math.h"
#include "cuda/launch.h"
#include "cuda/tile_memory.h"

namespace mgcompare::cuda::tile {
namespace {

// A thread's windows: every kThreads-th of kOfBlock windows of a sample. Prefetched into registers before they are needed.
template <Activation A, unsigned kThreads, unsigned kOfBlock = kWindows> class Windows {
 public:
  // Windows are counted from `first`.
  __device__ void load(const Call& call, unsigned sample, unsigned first = 0) {
#pragma unroll
    for (unsigned k = 0; k < kCount; ++k) {
      const unsigned i = threadIdx.x + k * kThreads;
      if (i >= kOfBlock || first + i >= kWindows) continue;
      const std::size_t at = static_cast<std::size_t>(sample) * kWindows + first + i;
      winner_[k] = __ldcg(call.choice + at);
      out_[k] = __ldcg(call.out + at);
      gradient_[k] = __ldcg(call.gradient + at);
    }
  }
  // f(window, counted from `first`; row and column of its maximum in the 8 x 8 image; gradient before the activation)
  template <class F> __device__ void each(F f, unsigned first = 0) const {
#pragma unroll
    for (unsigned k = 0; k < kCount; ++k) {
      const unsigned i = threadIdx.x + k * kThreads;
      if (i >= kOfBlock || first + i >= kWindows) continue;
      f(i, i / kPooled % kPooled * 2 + winner_[k] / 2, i % kPooled * 2 + winner_[k] % 2,
        activation_gradient<A>(out_[k], gradient_[k]));
    }
  }

 private:
  static constexpr unsigned kCount = (kOfBlock + kThreads - 1) / kThreads;
  unsigned winner_[kCount];
  float out_[kCount], gradient_[kCount];
};

// (outputs, terms) += gradient (outputs, 64 pixels) times windows (64 pixels, terms); the warps split the terms. Block
// (samples, half of the outputs). A multiprocessor holds two of these blocks, or one beside a block of data_back, so that one
// computes while the other loads.
constexpr unsigned kWeightWarps = 8, kRowOfPixels = kOut * kOut + 4, kTiles = 2, kHalves = 2;
constexpr unsigned kOutputsOfBlock = kTiles * 16, kWindowsOfBlock = kOutputsOfBlock * kPooled * kPooled;
static_assert(kHalves * kOutputsOfBlock >= kOutputs);
constexpr unsigned kTermTiles = kTermsPadded / 8, kTilesOfWarp = (kTermTiles + kWeightWarps - 1) / kWeightWarps;
static_assert(kTerms % 2 == 0 && (kWeights + kOutputs) % 2 == 0, "partial sums are stored in pairs");

constexpr unsigned kWeightBytes = (kOutputsOfBlock * kRowOfPixels + kPixels + kWindowsOfBlock) * sizeof(float);

template <Activation A>
__global__ void __launch_bounds__(kWeightWarps * 32, 2) weights_back(Call call, float* partial) {
  extern __shared__ __align__(16) float memory[];
  float* const image = memory;
  float* const gradients = image + kPixels;                             // (kOutputsOfBlock, kRowOfPixels)
  float* const of_window = gradients + kOutputsOfBlock * kRowOfPixels;
  const unsigned warp = threadIdx.x / 32, row = threadIdx.x % 32 / 4, column = threadIdx.x % 4;
  const unsigned first_output = blockIdx.y * kOutputsOfBlock, first_window = first_output * kPooled * kPooled;
  unsigned offsets[kTilesOfWarp];
#pragma unroll
  for (unsigned n = 0; n < kTilesOfWarp; ++n) offsets[n] = term_offset((warp + n * kWeightWarps) * 8 + row);
  float sums[kTiles][kTilesOfWarp][4] = {}, bias_sum = 0;
  Windows<A, kWeightWarps * 32, kWindowsOfBlock> windows;
  wait_for_previous_kernel();
  const bool has_bias = threadIdx.x < kOutputsOfBlock && first_output + threadIdx.x < kOutputs;
  for (unsigned sample = blockIdx.x; sample < call.samples; sample += gridDim.x) {
    windows.load(call, sample, first_window);
    __syncthreads();
    load_image(image, call.in + static_cast<std::size_t>(sample) * kPixels);
    for (unsigned i = threadIdx.x; i < kOutputsOfBlock * kRowOfPixels / 4; i += blockDim.x)
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
        // Stored in pairs: with a small batch these stores take a quarter of the kernel's time.
        const unsigned output = first_output + m * 16 + row + j / 2 * 8, term = (warp + n * kWeightWarps) * 8 + 2 * column;
        if (output < kOutputs && term < kTerms)
          *reinterpret_cast<float2*>(to + output * kTerms + term) = make_float2(sums[m][n][j], sums[m][n][j + 1]);
      }
    }
  }
  if (has_bias) to[kWeights + first_output + threadIdx.x] = bias_sum;
}

// (12 x 12 pixels, channels) += gradients, padded with zeros left and right, times the weights. Each row of the convolution
// kernel maps a row of gradients to a different row of pixels with the same products: the four rows of gradients that a warp
// reads are used for all five kernel rows, and added to eight rows of pixels. Rows are 16 wide to fit tensor cores. kParts
// groups of two warps split the terms; their sums are added at the end.
constexpr unsigned kBordered = kOut + 2 * (kKernel - 1), kPlane = kOut * kBordered + 16;  // + 16 avoids bank conflicts
constexpr unsigned kParts = 4, kRowsOfWarp = kOut / 2, kDataWarps = 2 * kParts;
constexpr unsigned kDataTermsPadded = kRowOfData - 4, kStepsOfPart = kDataTermsPadded / 8 / kParts;
constexpr unsigned kSumRows = kRowsOfWarp + kKernel - 1, kSumPlane = kSumRows * kSize + 4, kSums = kChannels * kSumPlane;
static_assert(kBordered == 16 && kDataTerms <= kDataTermsPadded && kSize == kOut + kKernel - 1);
constexpr unsigned kGradients = kOutputs * kPlane;
constexpr unsigned kScratch = kGradients > kDataWarps * kSums ? kGradients : kDataWarps * kSums;
constexpr unsigned kDataBytes = (kKernel * kRowsBackward * kRowOfData + kScratch) * sizeof(float);

// Blocks take samples from a queue instead of fixed shares: a concurrent NCCL kernel occupies some multiprocessors for a
// while, and blocks with fixed shares there would finish that much later. The result does not depend on which block computes
// a sample. Without a queue (kQueued = false) each block has one sample, which is 2 us faster for small batches.
template <Activation A, bool kQueued>
__global__ void __launch_bounds__(kDataWarps * 32) data_back(Call call, Queue* queue, float* to) {
  extern __shared__ __align__(16) float memory[];
  __shared__ unsigned next;
  float* const weights = memory;                                        // (kKernel, kRowsBackward, kRowOfData)
  float* const gradients = weights + kKernel * kRowsBackward * kRowOfData;  // (kOutputs, kPlane)
  float* const all_sums = gradients;                                    // later: (kDataWarps, kChannels, kSumPlane)
  start_copy(weights, call.packed + kPackedForward, kKernel * kRowsBackward * kRowOfData);
  const unsigned warp = threadIdx.x / 32, row = threadIdx.x % 32 / 4, column = threadIdx.x % 4;
  const unsigned part = warp / 2, first_row = warp % 2 * kRowsOfWarp;
  // The copy of the weights may start before wait_for_previous_kernel(): they were packed before the forward pass, and kernels
  // that ended before the previous kernel could start have already read them.
  wait_for_previous_kernel();
  Windows<A, kDataWarps * 32> windows;
  unsigned sample = blockIdx.x, following = call.samples;
  windows.load(call, sample);
  do {
    __syncthreads();
    unsigned taken = 0;
    if constexpr (kQueued) {
      if (threadIdx.x == 0) taken = gridDim.x + atomicAdd(&queue->taken, 1u);   // needed later: hides its latency
    }
    for (unsigned i = threadIdx.x; i < kGradients / 4; i += blockDim.x)
      reinterpret_cast<float4*>(gradients)[i] = make_float4(0, 0, 0, 0);
    __syncthreads();
    windows.each([&](unsigned i, unsigned y, unsigned x, float value) {
      gradients[i / (kPooled * kPooled) * kPlane + y * kBordered + x + kKernel - 1] = to_tf32(value);
    });
    if (kQueued && threadIdx.x == 0) next = taken;
    __pipeline_wait_prior(0);
    __syncthreads();
    if constexpr (kQueued) {
      following = next;
      if (following < call.samples) windows.load(call, following);
    }
    float sums[kSumRows][3][4] = {};
#pragma unroll 1
    for (unsigned step = part * kStepsOfPart; step < (part + 1) * kStepsOfPart; ++step) {
      // Weights beyond the last term are zero, so their gradients may be arbitrary.
      const auto offset = [](unsigned t) { return t < kDataTerms ? t / kKernel * kPlane + kKernel - 1 - t % kKernel : 0; };
      const unsigned t = step * 8 + column, near = offset(t) + row, far = offset(t + 4) + row;
      float a[kRowsOfWarp][4];
#pragma unroll
      for (unsigned y = 0; y < kRowsOfWarp; ++y) {
        const float* const line = gradients + (first_row + y) * kBordered;
        a[y][0] = line[near];
        a[y][1] = line[near + 8];
        a[y][2] = line[far];
        a[y][3] = line[far + 8];
      }
#pragma unroll
      for (unsigned k = 0; k < kKernel; ++k) {
        float b[3][2];
#pragma unroll
        for (unsigned n = 0; n < 3; ++n) {
          const float* const line = weights + (k * kRowsBackward + n * 8 + row) * kRowOfData + t;
          b[n][0] = line[0];
          b[n][1] = line[4];
        }
#pragma unroll
        for (unsigned y = 0; y < kRowsOfWarp; ++y) {
#pragma unroll
          for (unsigned n = 0; n < 3; ++n) multiply_add(sums[y + k][n], a[y], b[n]);
        }
      }
    }
    __syncthreads();
    float* const own = all_sums + warp * kSums;
#pragma unroll
    for (unsigned y = 0; y < kSumRows; ++y) {
#pragma unroll
      for (unsigned n = 0; n < 3; ++n) {
#pragma unroll
        for (unsigned j = 0; j < 4; ++j) {
          const unsigned channel = n * 8 + 2 * column + j % 2, x = row + j / 2 * 8;
          if (channel < kChannels && x < kSize) own[channel * kSumPlane + y * kSize + x] = sums[y][n][j];
        }
      }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < kPixels; i += blockDim.x) {
      const unsigned y = i % kArea / kSize;
      const float* const upper = all_sums + i / kArea * kSumPlane + i % kArea;
      const float* const lower = upper + kSums - kRowsOfWarp * kSize;
      float sum = 0;
#pragma unroll
      for (unsigned k = 0; k < kParts; ++k) {
        if (y < kSumRows) sum += upper[2 * k * kSums];
        if (y >= kRowsOfWarp) sum += lower[2 * k * kSums];
      }
      to[static_cast<std::size_t>(sample) * kPixels + i] = sum;
    }
    sample = following;
  } while (sample < call.samples);
  // The last block resets the queue for the next step.
  if (!kQueued || threadIdx.x != 0 || atomicAdd(&queue->left, 1u) != gridDim.x - 1) return;
  queue->taken = 0;
  queue->left = 0;
}

}  // namespace

bool prepare_backward(Activation activation) {
  bool fits = false;
  with_activation(activation, [&](auto chosen) {
    constexpr Activation A = decltype(chosen)::value;
    fits = request_shared_memory(weights_back<A>, kWeightBytes) && request_shared_memory(data_back<A, false>, kDataBytes) &&
           request_shared_memory(data_back<A, true>, kDataBytes);
  });
  return fits;
}

unsigned backward_weights(const Call& call, float* partial) {
  // Fewer blocks for small batches, where storing and adding partial sums takes most of the time.
  const unsigned max_blocks = call.samples <= 2 * call.processors ? call.processors / kHalves : call.processors;
  const unsigned blocks = std::min(call.samples, max_blocks);
  with_activation(call.activation, [&](auto chosen) {
    launch(call.stream, dim3(blocks, kHalves), kWeightWarps * 32, kWeightBytes, weights_back<decltype(chosen)::value>, call,
           partial);
  });
  return blocks;
}

void backward_data(const Call& call, Queue* queue, float* to) {
  with_activation(call.activation, [&](auto chosen) {
    constexpr Activation A = decltype(chosen)::value;
    if (call.samples <= call.processors) {
      launch(call.stream, call.samples, kDataWarps * 32, kDataBytes, data_back<A, false>, call, nullptr, to);
    } else {
      launch(call.stream, call.processors, kDataWarps * 32, kDataBytes, data_back<A, true>, call, queue, to);
    }
  });
}

}  // namespace mgcompare::cuda::tile
