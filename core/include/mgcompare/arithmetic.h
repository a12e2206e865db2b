#pragma once

// Device arithmetic of one's own, written once for CPUs and GPUs.
//
// A functor is a lambda, [=] MGCOMPARE_FUNCTION(std::size_t i) { ... }, or a struct with such an operator(). It is copied
// and holds device pointers by value. Structs are as fast on both kinds of device; a lambda that nvcc compiles for both is
// not inlined on the CPU. nvcc accepts no such lambda in a private or protected method.
//
// A source file that a C++ compiler compiles runs its functors on CPU devices, one that nvcc compiles on GPUs too:
// mgcompare_add_strategy(name name.cc CUDA). A functor that was not compiled for the device's kind throws Error.
// Thread and order: on the rank's thread, stream-ordered, not collective. May be captured (Traits::repeats_every). Results
// are the same bits in every run on the same kind of device.

#include <cstddef>

#include "mgcompare/device.h"
#include "mgcompare/segments.h"
#include "mgcompare/types.h"

namespace mgcompare {

// f(i) for i in [0, n), in any order and on several threads of a GPU at a time.
template <class F> void for_each(Device& device, std::size_t n, F f);

// out[s] = the sum of map(i) over the elements i of segments[s], added in a fixed order. T has operator+= and T{} is zero.
// `segments` and `out` are in device memory and of equal length. On a GPU a warp adds a segment: many segments of about a
// thousand elements are fast, one of a whole tensor is not.
template <class T, class Map>
void segmented_reduce(Device& device, Span<const Segment> segments, Span<T> out, Map map);

// For kernels of one's own: true on a CPU device, false on a GPU. Throws Error on a GPU where this file was compiled
// without nvcc.
inline bool runs_on_cpu(const Device& device);

}  // namespace mgcompare

#include "mgcompare/detail/arithmetic.h"
