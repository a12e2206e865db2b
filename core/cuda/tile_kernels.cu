#include <cuda_pipeline.h>

#include "activate.h"
#include "launch.h"
#include "tensor_core.h"
#include "tile_kernels.h"

namespace mgcompare::cuda::tile {
namespace {

constexpr unsigned kArea = kSize * kSize, kTaps = kKernel * kKernel;
constexpr unsigned kTermsPadded = (kTerms + 7) / 8 * 8;                 // 504
static_assert(kRowOfTerms == kTermsPadded + 4);
constexpr char kWhat[] = "computing a convolution";

// Where term t of a window begins, from the window's first pixel.
__device__ unsigned term_offset(unsigned t) {
  return t >= kTerms ? 0 : t / kTaps * kArea + t % kTaps / kKernel * kSize + t % kKernel;
}

// Through __ldg everywhere: the compiler may then have several loads under way before the first store.
__device__ void load_image(float* to, const float* from) {
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < kPixels / 4; i += blockDim.x) {
    const float4 four = __ldg(reinterpret_cast<const float4*>(from) + i);
    reinterpret_cast<float4*>(to)[i] = make_float4(to_tf32(four.x), to_tf32(four.y), to_tf32(four.z), to_tf32(four.w));
  }
}

// Copies behind the thread's back; __pipeline_wait_prior(0) and a barrier end it.
__device__ void start_copy(float* to, const float* from, unsigned floats) {
  for (unsigned i = threadIdx.x * 4; i < floats; i += blockDim.x * 4) __pipeline_memcpy_async(to + i, from + i, 16);
  __pipeline_commit();
}

// kSamples at a time; each has 2 x kGroups warps: 4 image rows, and one of kGroups parts of the outputs.
template <unsigned kSamples> struct Forward {
  static constexpr unsigned kGroups = 4 / kSamples;
  static constexpr unsigned kTiles = (7 + kGroups - 1) / kGroups;       // of 8 outputs, of one warp
  static constexpr unsigned kRows = kTiles * kGroups * 8;
  static constexpr unsigned kBytes = (kRows * kRowOfTerms + kSamples * kPixels + kTermsPadded) * sizeof(float);
};

template <Activation A, unsigned kSamples>
__global__ void __launch_bounds__(256) convolve(Call call) {
  using F = Forward<kSamples>;
  extern __shared__ __align__(16) float memory[];
  float* const weights = memory;                                        // (kRows, kRowOfTerms)
  float* const images = weights + F::kRows * kRowOfTerms;
  unsigned* const offsets = reinterpret_cast<unsigned*>(images + kSamples * kPixels);
  start_copy(weights, call.packed, F::kRows * kRowOfTerms);
  for (unsigned i = threadIdx.x; i < kTermsPadded; i += blockDim.x) offsets[i] = term_offset(i);
  const unsigned warp = threadIdx.x / 32, row = threadIdx.x % 32 / 4, column = threadIdx.x % 4;
  const unsigned slot = warp / (2 * F::kGroups), first_row = warp % 2 * 4;
  const unsigned first_output = warp / 2 % F::kGroups * F::kTiles * 8;
  for (unsigned first = blockIdx.x * kSamples; first < call.samples; first += gridDim.x * kSamples) {
    __syncthreads();
    for (unsigned k = 0; k < kSamples && first + k < call.samples; ++k)
      load_image(images + k * kPixels, call.in + static_cast<std::size_t>(first + k) * kPixels);
    __pipeline_wait_prior(0);
    __syncthreads();
    const unsigned sample = first + slot;
    if (sample >= call.samples) continue;
    float sums[2][F::kTiles][4] = {};
    const float* const image = images + slot * kPixels + first_row * kSize + row;
#pragma unroll 3
    for (unsigned t = 0; t < kTermsPadded; t += 8) {
      const unsigned near = offsets[t + column], far = offsets[t + column + 4];
      float a[2][4];
#pragma unroll
      for (unsigned m = 0; m < 2; ++m) {
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
        for (unsigned m = 0; m < 2; ++m) multiply_add(sums[m][n], a[m], b);
      }
    }
    // A thread has one column of two image rows: the window's other column is four lanes away.
#pragma unroll
    for (unsigned m = 0; m < 2; ++m) {
#pragma unroll
      for (unsigned n = 0; n < F::kTiles; ++n) {
#pragma unroll
        for (unsigned j = 0; j < 2; ++j) {
          const float top = sums[m][n][j], bottom = sums[m][n][2 + j];
          const float right[2] = {__shfl_down_sync(0xffffffffu, top, 4), __shfl_down_sync(0xffffffffu, bottom, 4)};
          const unsigned output = first_output + n * 8 + 2 * column + j;
          if (row % 2 != 0 || output >= kOutputs) continue;
          const float values[4] = {top, right[0], bottom, right[1]};
          float best = values[0];
          unsigned winner = 0;
#pragma unroll
          for (unsigned p = 1; p < 4; ++p) {
            // NaN wins, or a diverged network could look healthy.
            if (values[p] <= best || best != best) continue;
            best = values[p];
            winner = p;
          }
          const std::size_t at = (static_cast<std::size_t>(sample) * kOutputs + output) * kPooled * kPooled +
                                 (first_row / 2 + m) * kPooled + row / 2;
          call.out[at] = activated<A>(best + (call.bias == nullptr ? 0.0f : call.bias[output]));
          call.choice[at] = static_cast<std::uint8_t>(winner);
        }
      }
    }
  }
}

// What a thread needs of a sample's windows, every kThreads-th of them: loaded in one go, and long before it is used where
// there is other work until then.
template <Activation A, unsigned kThreads> class Windows {
 public:
  __device__ void load(const Call& call, unsigned sample) {
#pragma unroll
    for (unsigned k = 0; k < kCount; ++k) {
      const unsigned i = threadIdx.x + k * kThreads;
      if (i >= kWindows) continue;
      const std::size_t at = static_cast<std::size_t>(sample) * kWindows + i;
      winner_[k] = __ldg(call.choice + at);
      out_[k] = __ldg(call.out + at);
      gradient_[k] = __ldg(call.gradient + at);
    }
  }
  // f(window, row and column of its winner in the 8 x 8 image, gradient before the activation)
  template <class F> __device__ void each(F f) const {
#pragma unroll
    for (unsigned k = 0; k < kCount; ++k) {
      const unsigned i = threadIdx.x + k * kThreads;
      if (i >= kWindows) continue;
      f(i, i / kPooled % kPooled * 2 + winner_[k] / 2, i % kPooled * 2 + winner_[k] % 2, slope<A>(out_[k], gradient_[k]));
    }
  }

 private:
  static constexpr unsigned kCount = (kWindows + kThreads - 1) / kThreads;
  unsigned winner_[kCount];
  float out_[kCount], gradient_[kCount];
};

// Outputs x terms += gradient (outputs x 64 pixels) times windows (64 pixels x terms); 16 warps share the terms.
constexpr unsigned kWeightWarps = 16, kRowOfPixels = kOut * kOut + 4, kOutputsPadded = 64;
constexpr unsigned kTermTiles = kTermsPadded / 8, kTilesOfWarp = (kTermTiles + kWeightWarps - 1) / kWeightWarps;
static_assert(kTerms % 2 == 0 && (kWeights + kOutputs) % 2 == 0, "pairs of partial sums are stored in one go");
constexpr unsigned kWeightBytes = (kOutputsPadded * kRowOfPixels + kPixels + kWindows) * sizeof(float);

template <Activation A>
__global__ void __launch_bounds__(kWeightWarps * 32) weights_back(Call call, float* partial) {
  extern __shared__ __align__(16) float memory[];
  float* const image = memory;
  float* const gradients = image + kPixels;                             // (kOutputsPadded, kRowOfPixels)
  float* const of_window = gradients + kOutputsPadded * kRowOfPixels;
  const unsigned warp = threadIdx.x / 32, row = threadIdx.x % 32 / 4, column = threadIdx.x % 4;
  unsigned offsets[kTilesOfWarp];
#pragma unroll
  for (unsigned n = 0; n < kTilesOfWarp; ++n) offsets[n] = term_offset((warp + n * kWeightWarps) * 8 + row);
  float sums[4][kTilesOfWarp][4] = {}, bias_sum = 0;
  Windows<A, kWeightWarps * 32> windows;
  for (unsigned sample = blockIdx.x; sample < call.samples; sample += gridDim.x) {
    windows.load(call, sample);
    __syncthreads();
    load_image(image, call.in + static_cast<std::size_t>(sample) * kPixels);
    for (unsigned i = threadIdx.x; i < kOutputsPadded * kRowOfPixels / 4; i += blockDim.x)
      reinterpret_cast<float4*>(gradients)[i] = make_float4(0, 0, 0, 0);
    __syncthreads();
    windows.each([&](unsigned i, unsigned y, unsigned x, float value) {
      of_window[i] = value;
      gradients[i / (kPooled * kPooled) * kRowOfPixels + y * kOut + x] = to_tf32(value);
    });
    __syncthreads();
    if (threadIdx.x < kOutputs) {
      for (unsigned i = 0; i < kPooled * kPooled; ++i) bias_sum += of_window[threadIdx.x * kPooled * kPooled + i];
    }
#pragma unroll 2
    for (unsigned y = 0; y < kOut; ++y) {
      float a[4][4];
#pragma unroll
      for (unsigned m = 0; m < 4; ++m) {
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
        for (unsigned m = 0; m < 4; ++m) multiply_add(sums[m][n], a[m], b);
      }
    }
  }
  float* const to = partial + static_cast<std::size_t>(blockIdx.x) * (kWeights + kOutputs);
#pragma unroll
  for (unsigned m = 0; m < 4; ++m) {
#pragma unroll
    for (unsigned n = 0; n < kTilesOfWarp; ++n) {
#pragma unroll
      for (unsigned j = 0; j < 4; j += 2) {
        // In pairs: a small batch spends a quarter of the kernel on these stores.
        const unsigned output = m * 16 + row + j / 2 * 8, term = (warp + n * kWeightWarps) * 8 + 2 * column;
        if (output < kOutputs && term < kTerms)
          *reinterpret_cast<float2*>(to + output * kTerms + term) = make_float2(sums[m][n][j], sums[m][n][j + 1]);
      }
    }
  }
  if (threadIdx.x < kOutputs) to[kWeights + threadIdx.x] = bias_sum;
}

// Pixels (144) x channels += gradients, with a border of zeros, times the weights turned round. The terms are shared by
// four groups of warps, whose sums are added at the end.
constexpr unsigned kBordered = kOut + 2 * (kKernel - 1);                // 16
constexpr unsigned kParts = 4, kPixelWarps = 3, kDataWarps = kParts * kPixelWarps;
constexpr unsigned kDataTerms = kOutputs * kTaps;                       // 1250
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

template <class Kernel> bool allow(Kernel kernel, unsigned bytes) {
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)) == cudaSuccess)
    return true;
  cudaGetLastError();
  return false;
}

}  // namespace

bool prepare(int device) {
  int major = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "asking what a device is");
  if (major < 8) return false;
  bool fits = true;
  for (const Activation activation : {Activation::none, Activation::tanh, Activation::relu, Activation::sigmoid}) {
    with_activation(activation, [&](auto chosen) {
      constexpr Activation A = decltype(chosen)::value;
      fits = fits && allow(convolve<A, 1>, Forward<1>::kBytes) && allow(convolve<A, 4>, Forward<4>::kBytes) &&
             allow(weights_back<A>, kWeightBytes) && allow(data_back<A, false>, kDataBytes) &&
             allow(data_back<A, true>, kDataBytes);
    });
  }
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
      const unsigned channel = (i - kPackedForward) / kRowOfData, term = (i - kPackedForward) % kRowOfData;
      if (channel < kChannels && term < kDataTerms)
        value = weights[term / kTaps * kTerms + channel * kTaps + term % kTaps];
    }
    packed[i] = to_tf32(value);
  });
}

void forward(const Call& call) {
  with_activation(call.activation, [&](auto chosen) {
    constexpr Activation A = decltype(chosen)::value;
    // One sample a block while there are processors for all of them.
    if (call.samples <= 2 * call.processors) {
      convolve<A, 1><<<std::min(call.samples, call.processors), 256, Forward<1>::kBytes, call.stream>>>(call);
    } else {
      convolve<A, 4><<<call.processors, 256, Forward<4>::kBytes, call.stream>>>(call);
    }
  });
  check(cudaGetLastError(), kWhat);
}

unsigned backward_weights(const Call& call, float* partial) {
  const unsigned blocks = std::min(call.samples, call.processors);
  with_activation(call.activation, [&](auto chosen) {
    weights_back<decltype(chosen)::value><<<blocks, kWeightWarps * 32, kWeightBytes, call.stream>>>(call, partial);
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
