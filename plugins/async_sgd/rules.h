#pragma once

// The arithmetic of a parameter server, one element or one number at a time.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mgcompare/types.h"

namespace async_sgd {

// n-softsync (Gupta, Zhang, Wang: arXiv 1509.04210): the server updates after this many gradients.
inline std::uint64_t gradients_per_update(std::uint64_t ranks, std::uint64_t n) { return std::max<std::uint64_t>(1, ranks / n); }

// Staleness-aware rates (Zhang, Gupta, Lian, Liu: arXiv 1511.05950): a gradient's share of the learning rate.
inline double rate_of(std::uint64_t staleness, bool aware) {
  return aware && staleness > 0 ? 1.0 / static_cast<double>(staleness) : 1.0;
}

// Delay compensation (Zheng et al.: arXiv 1609.08326): the gradient at the server's weights, estimated from the one at the
// weights that were pulled, with its square in place of the Hessian.
struct Compensate {
  float* gradient;
  const float* weights;
  const float* pulled;
  float strength;
  MGCOMPARE_FUNCTION void operator()(std::size_t i) const {
    gradient[i] += strength * gradient[i] * gradient[i] * (weights[i] - pulled[i]);
  }
};

// The same at a strength for each element, which falls where gradients are large: lambda over the root of their mean square.
struct CompensateAdaptively {
  static constexpr float kMemory = 0.95f, kLeast = 1e-7f;  // of the mean square, and added to it
  float* gradient;
  const float* weights;
  const float* pulled;
  float* mean_square;
  float strength;
  MGCOMPARE_FUNCTION void operator()(std::size_t i) const {
    const float square = gradient[i] * gradient[i];
    mean_square[i] = kMemory * mean_square[i] + (1 - kMemory) * square;
    gradient[i] += strength / sqrtf(mean_square[i] + kLeast) * square * (weights[i] - pulled[i]);
  }
};

struct AddScaled {
  float* sum;
  const float* vector;
  float scale;
  MGCOMPARE_FUNCTION void operator()(std::size_t i) const { sum[i] += scale * vector[i]; }
};

struct Multiply {
  float* vector;
  float factor;
  MGCOMPARE_FUNCTION void operator()(std::size_t i) const { vector[i] *= factor; }
};

// What a rank's own update changed, in place of the weights before it.
struct Change {
  float* before;
  const float* after;
  MGCOMPARE_FUNCTION void operator()(std::size_t i) const { before[i] = after[i] - before[i]; }
};

// Host memory that several ranks touch at once. Elements that do not change are left alone.
inline void add_atomically(float* to, const float* from, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    if (from[i] != 0) std::atomic_ref<float>(to[i]).fetch_add(from[i], std::memory_order_relaxed);
}
// `from` is only read; atomic_ref takes no pointer to const before C++26.
inline void copy_atomically(float* to, float* from, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) to[i] = std::atomic_ref<float>(from[i]).load(std::memory_order_relaxed);
}

}  // namespace async_sgd
