#pragma once

// The CPU side of arithmetic.h, and the choice between the two. Included by arithmetic.h.

#include <cstdint>

#if defined(__CUDACC__)
#include "mgcompare/detail/arithmetic_cuda.h"
#endif

namespace mgcompare {

inline bool runs_on_cpu(const Device& device) {
  if (device.kind() == DeviceKind::cpu) return true;
#if !defined(__CUDACC__)
  throw Error("this plugin was compiled without CUDA and cannot compute on a GPU; compile it with nvcc: "
              "mgcompare_add_strategy(... CUDA)");
#endif
  return false;
}

template <class F> void for_each(Device& device, std::size_t n, F f) {
  if (runs_on_cpu(device)) {
    for (std::size_t i = 0; i < n; ++i) f(i);
    return;
  }
#if defined(__CUDACC__)
  cuda::for_each(device, n, f);
#endif
}

template <class T, class Map>
void segmented_reduce(Device& device, Span<const Segment> segments, Span<T> out, Map map) {
  if (runs_on_cpu(device)) {
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const Segment segment = segments[s];
      T sum{};
      for (std::uint32_t j = 0; j < segment.count; ++j)
        sum += map(segment.begin + static_cast<std::size_t>(j) * segment.stride);
      out[s] = sum;
    }
    return;
  }
#if defined(__CUDACC__)
  cuda::segmented_reduce(device, segments, out, map);
#endif
}

}  // namespace mgcompare
