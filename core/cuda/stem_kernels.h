#pragma once

// The kernels of stem_convolution.h, in two versions: fp32, and tf32 on tensor cores.

#include <cstdint>

#include "cuda/activation.h"
#include "cuda/status.h"

namespace mgcompare::cuda::stem {

inline constexpr unsigned kKernel = 5, kTaps = kKernel * kKernel;
inline constexpr unsigned kMaxPixels = 1024;  // of the image
inline constexpr unsigned kMaxChannels = 32;

// Convolution of one channel of height x width pixels to `channels` channels of (2 down) x (2 across) pixels, pooled to
// down x across.
struct Shape {
  unsigned height, width, down, across, channels;
  __host__ __device__ unsigned places() const { return down * across; }
};

// All pointers are to device memory.
struct Call {
  cudaStream_t stream;
  unsigned processors;    // multiprocessors of the device
  Shape shape;
  Activation activation;
  unsigned samples;
  const float* in;        // (samples, height, width)
  const float* weights;   // (channels, kTaps)
  const float* bias;      // or null
  float* out;             // (samples, channels, down, across)
  std::uint8_t* choice;   // index of the maximum in each window
  const float* gradient;  // of out
};

inline constexpr unsigned kBlocksPerProcessor = 2;
// Upper bound of the blocks of a kernel.
inline unsigned max_blocks(unsigned processors) { return kBlocksPerProcessor * processors; }

// backward() writes partial sums of the weight and bias gradients to `partial`: (blocks, channels * kTaps + channels), or
// (blocks, channels * kTaps) without bias. Returns the number of blocks.
namespace fp32 {
bool serves(const Shape& shape);
void forward(const Call& call);
unsigned backward(const Call& call, float* partial);
}  // namespace fp32

namespace tf32 {
// Whether the kernels support the shape on the current device. Configures the shared memory that they need.
bool serves(const Shape& shape, Activation activation);
void forward(const Call& call);
unsigned backward(const Call& call, float* partial);
}  // namespace tf32

}  // namespace mgcompare::cuda::stem
