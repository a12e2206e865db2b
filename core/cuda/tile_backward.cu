#include "cuda/activate.h"
#include "cuda/launch.h"
#include "cuda/tile_memory.h"

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
      winner_[k] = __ldcg(call.choice + at);
      out_[k] = __ldcg(call.out + at);
      gradient_[k] = __ldcg(call.gradient + at);
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

// Outputs x terms += gradient (outputs x 64 pixels) times windows (64 pixels x terms); the warps share the terms. Block
// (samples, half of the outputs): two of them fit on a processor, or one beside the other gradient's kernel, and compute while
// the other loads.
constexpr unsigned kWeightWarps = 8, kRowOfPixels = kOut * kOut + 4, kTiles = 2, kHalves = 2;
constexpr unsigned kOutputsOfBlock = kTiles * 16, kWindowsOfBlock = kOutputsOfBlock * kPooled * kPooled;
static_assert(kHalves * kOutputsOfBlock >= kOutputs);
constexpr unsigned kTermTiles = kTermsPadded / 8, kTilesOfWarp = (kTermTiles + kWeightWarps - 1) / kWeightWarps;
static_assert(kTerms % 2 == 0 && (kWeights + kOutputs) % 2 == 0, "pairs of partial sums are stored in one go");

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
  await_earlier();
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
        // In pairs: a small batch spends a quarter of the kernel on these stores.
        const unsigned output = first_output + m * 16 + row + j / 2 * 8, term = (warp + n * kWeightWarps) * 8 + 2 * column;
        if (output < kOutputs && term < kTerms)
          *reinterpret_cast<float2*>(to + output * kTerms + term) = make_float2(sums[m][n][j], sums[m][n][j + 1]);
      }
    }
  }
  if (has_bias) to[kWeights + first_output + threadIdx.x] = bias_sum;
}

// Pixels (12 rows of 12) x channels += gradients, with a border of zeros left and right, times the weights. A row of the
// kernel moves a row of gradients to another row of pixels, and nothing else: what a warp reads of four rows of gradients
// serves all five rows of the kernel, whose products it adds to eight rows of pixels. Rows are 16 wide for the matrix units.
// kParts groups of two warps share the terms; their sums are added at the end.
constexpr unsigned kBordered = kOut + 2 * (kKernel - 1), kPlane = kOut * kBordered + 16;  // + 16: neighbours meet other banks
constexpr unsigned kParts = 4, kRowsOfWarp = kOut / 2, kDataWarps = 2 * kParts;
constexpr unsigned kDataTermsPadded = kRowOfData - 4, kStepsOfPart = kDataTermsPadded / 8 / kParts;
constexpr unsigned kSumRows = kRowsOfWarp + kKernel - 1, kSumPlane = kSumRows * kSize + 4, kSums = kChannels * kSumPlane;
static_assert(kBordered == 16 && kDataTerms <= kDataTermsPadded && kSize == kOut + kKernel - 1);
constexpr unsigned kGradients = kOutputs * kPlane;
constexpr unsigned kScratch = kGradients > kDataWarps * kSums ? kGradients : kDataWarps * kSums;
constexpr unsigned kDataBytes = (kKernel * kRowsBackward * kRowOfData + kScratch) * sizeof(float);

// Blocks take samples one by one from a queue instead of in fixed shares: an exchange that runs beside this kernel holds
// some processors for a while, and a fixed share of one of those would end that much later. Which block computes a sample's
// gradient changes nothing about it. Without a queue each block has one sample: small batches need no more, and the code for
// several costs them 2 us.
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
  // The weights were packed before the forward pass: kernels that ended before the one ahead of this could begin have read them.
  await_earlier();
  Windows<A, kDataWarps * 32> windows;
  unsigned sample = blockIdx.x, following = call.samples;
  windows.load(call, sample);
  do {
    __syncthreads();
    unsigned taken = 0;
    if constexpr (kQueued) {
      if (threadIdx.x == 0) taken = gridDim.x + atomicAdd(&queue->taken, 1u);   // under way until it is needed
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
      // Weights beyond the last term are zero; any gradient will do for them.
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
    fits = allow(weights_back<A>, kWeightBytes) && allow(data_back<A, false>, kDataBytes) &&
           allow(data_back<A, true>, kDataBytes);
  });
  return fits;
}

unsigned backward_weights(const Call& call, float* partial) {
  // A small batch leaves no more partial sums than it must: storing and adding them is most of the work.
  const unsigned most = call.samples <= 2 * call.processors ? call.processors / kHalves : call.processors;
  const unsigned blocks = std::min(call.samples, most);
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
