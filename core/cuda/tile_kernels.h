#pragma once

// The kernels of tile_convolution.h. Sizes are compiled in for the one shape that they serve: 20 channels of 12 x 12
// pixels onto 50 channels of 8 x 8, kernels of 5 x 5, pooled to 4 x 4.

#include <cstdint>

#include "cuda/activation.h"
#include "cuda/status.h"

namespace mgcompare::cuda::tile {

inline constexpr unsigned kChannels = 20, kSize = 12, kOutputs = 50, kOut = 8, kKernel = 5, kPooled = 4;
inline constexpr unsigned kPixels = kChannels * kSize * kSize;          // of an input sample
inline constexpr unsigned kTaps = kKernel * kKernel;
inline constexpr unsigned kTerms = kChannels * kTaps;                   // of one output
inline constexpr unsigned kDataTerms = kOutputs * kKernel;              // of one input, of one row of the kernel
inline constexpr unsigned kWindows = kOutputs * kPooled * kPooled;      // of an output sample
inline constexpr unsigned kWeights = kOutputs * kTerms;

// The weights as the kernels read them: rounded to tf32, in rows that are padded. For the forward pass (outputs, terms), for
// the backward pass (rows of the kernel, channels, outputs x columns of the kernel).
inline constexpr unsigned kRowOfTerms = 504 + 4, kRowsForward = 64;     // + 4: a warp's reads then meet 32 banks
inline constexpr unsigned kRowOfData = 256 + 4, kRowsBackward = 24;
inline constexpr unsigned kPackedForward = kRowsForward * kRowOfTerms;
inline constexpr unsigned kPacked = kPackedForward + kKernel * kRowsBackward * kRowOfData;

// All pointers are to device memory. `processors`: of the device.
struct Call {
  cudaStream_t stream;
  unsigned processors;
  Activation activation;
  unsigned samples;
  const float* in;        // (samples, kPixels)
  const float* packed;    // (kPacked)
  const float* bias;      // or null
  float* out;             // (samples, kWindows)
  std::uint8_t* choice;
  const float* gradient;  // of out
};

// Which samples are taken; all zero before and after a kernel.
struct Queue {
  unsigned taken, left;
};

// Let the current device's kernels have the shared memory that they need; false where it has not so much.
bool prepare_forward(Activation activation);
bool prepare_backward(Activation activation);
// weights (kOutputs, kTerms) to `packed`.
void pack(cudaStream_t stream, const float* weights, float* packed);
void forward(const Call& call);
// partial (blocks, kWeights + kOutputs): sums of the weights' and the bias's gradients; returns the blocks, at most
// `processors`.
unsigned backward_weights(const Call& call, float* partial);
// The gradient of `in`. One kernel at a time uses a queue, which is in device memory.
void backward_data(const Call& call, Queue* queue, float* to);

}  // namespace mgcompare::cuda::tile
