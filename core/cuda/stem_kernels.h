#pragma once

// The kernels of stem_convolution.h, in two forms: in fp32, and on the matrix units in tf32.

#include <cstdint>

#include "cuda/activation.h"
#include "cuda/status.h"

namespace mgcompare::cuda::stem {

inline constexpr unsigned kKernel = 5, kTaps = kKernel * kKernel;
inline constexpr unsigned kMostPixels = 1024;  // of the image
inline constexpr unsigned kMostChannels = 32;

// One channel of height x width pixels onto `channels` of (2 down) x (2 across), pooled to down x across.
struct Shape {
  unsigned height, width, down, across, channels;
  __host__ __device__ unsigned places() const { return down * across; }
};

// All pointers are to device memory.
struct Call {
  cudaStream_t stream;
  unsigned processors;    // of the device
  Shape shape;
  Activation activation;
  unsigned samples;
  const float* in;        // (samples, height, width)
  const float* weights;   // (channels, kTaps)
  const float* bias;      // or null
  float* out;             // (samples, channels, down, across)
  std::uint8_t* choice;   // the pixel of a window that won
  const float* gradient;  // of out
};

inline constexpr unsigned kBlocksPerProcessor = 2;
// More blocks than this no kernel has.
inline unsigned most_blocks(unsigned processors) { return kBlocksPerProcessor * processors; }

// backward(): partial (blocks, channels x kTaps, then channels where there is a bias): sums of the weights' and the bias's
// gradients; returns the blocks.
namespace fp32 {
bool serves(const Shape& shape);
void forward(const Call& call);
unsigned backward(const Call& call, float* partial);
}  // namespace fp32

namespace tf32 {
// Whether the kernels serve such shapes on the current device; lets them have the shared memory that they need.
bool serves(const Shape& shape, Activation activation);
void forward(const Call& call);
unsigned backward(const Call& call, float* partial);
}  // namespace tf32

}  // namespace mgcompare::cuda::stem
