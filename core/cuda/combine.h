#pragma once

// Adding the vectors of several ranks in rank order: in float32 whatever the element type, bytes and words as integers.

#include <cstddef>

#include "mgcompare/types.h"
#include "cuda/status.h"

namespace mgcompare::cuda {

inline constexpr std::size_t kMostSummands = 64;

// Every to[k][i] = the sum over r of from[r][i], for i in the range. All pointers are readable and writable from the
// stream's device.
struct Combination {
  const void* from[kMostSummands];
  void* to[kMostSummands];
  std::size_t sources = 0, targets = 0;
  Range range;
};
void combine(cudaStream_t stream, const Combination& combination, Type type);

// to[i] += from[i], each atomically, also beside other devices that add.
void add_atomically(cudaStream_t stream, float* to, const float* from, std::size_t size);

}  // namespace mgcompare::cuda
