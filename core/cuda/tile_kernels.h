#pragma once

// The kernels of tile_convolution.h. Sizes are compiled in for the one shape that they serve: 20 channels of 12 x 12
// pixels onto 50 channels of 8 x 8, kernels of 5 x 5, pooled to 4 x 4.

#include <cstdint>

#include "activation.h"
#include "status.h"

namespace mgcompare::cuda::tile {

inline constexpr unsigned kChannels = 20, kSize = 12, kOutputs = 50, kOut = 8, kKernel = 5, kPooled = 4;
inline constexpr unsigned kPixels = kChannels * kSize * kSize;          // of an input sample
inline constexpr unsigned kTerms = kChannels * kKernel * kKernel;       // of one output
inline constexpr unsigned kWindows = kOutputs * kPooled * kPooled;      // of an output sample
inline constexpr unsigned kWeights = kOutputs * kTerms;

// All pointers are to device memory. `processors`: of the device.
struct Call {
  cudaStream_t stream;
  unsigned processors;
  Activation activation;
  unsigned samples;
  const float* in;        // (samples, kPixels)
  const float* weights;   // (kOutputs, kTerms)
  const float* bias;      // or null
  float* out;             // (samples, kWindows)
  std::uint8_t* choice;
  const float* gradient;  // of out
};

// Lets the kernels have the shared memory that they need; false where the device has not so much.
bool prepare(int device);
void forward(const Call& call);
// partial (blocks, kWeights + kOutputs): sums of the weights' and the bias's gradients; returns the blocks, at most
// `processors`.
unsigned backward_weights(const Call& call, float* partial);
// The gradient of `in`.
void backward_data(const Call& call, float* to);

}  // namespace mgcompare::cuda::tile
