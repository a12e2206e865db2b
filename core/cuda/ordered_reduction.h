#pragma once

// Sums vectors of several ranks in rank order. Floating-point types are summed in float32, integers as integers.

#include <cstddef>

#include "cuda/status.h"
#include "mgcompare/types.h"

namespace mgcompare::cuda {

inline constexpr std::size_t kMaxSources = 64;

// to[k][i] = sum over r of from[r][i], for every k and for i in the range. The stream's device must be able to access all
// pointers.
struct OrderedReduction {
  const void* from[kMaxSources];
  void* to[kMaxSources];
  std::size_t sources = 0, targets = 0;
  Range range;
};
void reduce_in_order(cudaStream_t stream, const OrderedReduction& combination, Type type);

// to[i] += from[i], atomic per element, also with respect to other devices.
void add_atomically(cudaStream_t stream, float* to, const float* from, std::size_t size);

}  // namespace mgcompare::cuda
