#pragma once

// The kernels of tile_convolution.h, compiled for one shape: 20 channels of 12 x 12 pixels to 50 channels of 8 x 8 with 5 x 5
// kernels, pooled to 4 x 4.

#include <cstdint>

#include "cuda/activation.h"
#include "cuda/status.h"

namespace mgcompare::cuda::tile {

inline constexpr unsigned kChannels = 20, kSize = 12, kOutputs = 50, kOut = 8, kKernel = 5, kPooled = 4;
inline constexpr unsigned kPixels = kChannels * kSize * kSize;          // per input sample
inline constexpr unsigned kTaps = kKernel * kKernel;
inline constexpr unsigned kTerms = kChannels * kTaps;                   // per output element
inline constexpr unsigned kDataTerms = kOutputs * kKernel;              // per input element and row of the kernel
inline constexpr unsigned kWindows = kOutputs * kPooled * kPooled;      // per output sample
inline constexpr unsigned kWeights = kOutputs * kTerms;

// Packed weights: rounded to tf32, in padded rows. For the forward pass (outputs, terms), then for the backward pass (rows of
// the kernel, channels, outputs x columns of the kernel).
inline constexpr unsigned kRowOfTerms = 504 + 4, kRowsForward = 64;     // + 4 avoids bank conflicts
inline constexpr unsigned kRowOfData = 256 + 4, kRowsBackward = 24;
inline constexpr unsigned kPackedForward = kRowsForward * kRowOfTerms;
inline constexpr unsigned kPacked = kPackedForward + kKernel * kRowsBackward * kRowOfData;

// All pointers are to device memory. `processors`: number of multiprocessors.
struct Call {
  cudaStream_t stream;
  unsigned processors;
  Activation activation;
  unsigned samples;
  const float* in;        // (samples, kPixels)
  const float* packed;    // (kPacked)
  const float* bias;      // or null
  float* out;             // (samples, kWindows)
  std::uint8_t* choice;   // index of the maximum in each window
  const float* gradient;  // of out
};

// Work queue of samples; zero before and after a kernel.
struct Queue {
  unsigned taken, left;   // samples that were taken, blocks that have finished
};

// Configure the shared memory of the kernels on the current device. Return false if the device has too little.
bool prepare_forward(Activation activation);
bool prepare_backward(Activation activation);
// weights (kOutputs, kTerms) to `packed`.
void pack(cudaStream_t stream, const float* weights, float* packed);
void forward(const Call& call);
// Writes partial sums of the weight and bias gradients to `partial`, (blocks, kWeights + kOutputs). Returns the number of
// blocks, at most `processors`.
unsigned backward_weights(const Call& call, float* partial);
// Writes the gradient of `in`. `queue` is in device memory and is used by one kernel at a time.
void backward_data(const Call& call, Queue* queue, float* to);

}  // namespace mgcompare::cuda::tile
