#pragma once

// The arithmetic of the parameter server, per element.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mgcompare/types.h"

namespace async_sgd {

// n-softsync (Gupta, Zhang, Wang: arXiv 1509.04210): the server updates after this many gradients.
inline std::uint64_t gradients_per_update(std::uint64_t ranks, std::uint64_t n) { return std::max<std::uint64_t>(1, ranks / n); }

// Staleness-aware rates (Zhang, Gupta, Lian, Liu: arXiv 1511.05950): the fraction of the learning rate for a gradient.
inline double rate_of(std::uint64_t staleness, bool aware) {
  return aware && staleness > 0 ? 1.0 / static_cast<double>(staleness) : 1.0;
}

// Delay compensation (Zheng et al.: arXiv 1609.08326): estimates the gradient at the server's weights from that at the
// pulled weights, with the squared gradient as an approximation of the Hessian.
struct Compensate {
  float* gradient;
  const float* weights;
  const float* pulled;
  float strength;
  MGCOMPARE_FUNCTION void operator()(std::size_t i) const {
    gradient[i] += strength * gradient[i] * gradient[i] * (weights[i] - pulled[i]);
  }
};

// The same with a strength per element: lambda over the root of the mean squared gradient.
struct CompensateAdaptively {
  static constexpr float kMemory = 0.95f, kLeast = 1e-7f;  // the mean square's decay, and what is added to it
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

// Replaces the weights before a rank's own update by the change that the update made.
struct Change {
  float* before;
  const float* after;
  MGCOMPARE_FUNCTION void operator()(std::size_t i) const { before[i] = after[i] - before[i]; }
};

// For host memory that several ranks access at the same time. Skips elements that do not change.
inline void add_atomically(float* to, const float* from, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    if (from[i] != 0) std::atomic_ref<float>(to[i]).fetch_add(from[i], std::memory_order_relaxed);
}
// Does not write `from`; std::atomic_ref accepts no const type before C++26.
inline void copy_atomically(float* to, float* from, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) to[i] = std::atomic_ref<float>(from[i]).load(std::memory_order_relaxed);
}

}  // namespace async_sgd
