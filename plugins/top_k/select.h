#pragma once

// Selection of elements of a vector, on either kind of device.

#include <bit>
#include <cstddef>
#include <cstdint>

#include "mgcompare/arithmetic.h"

#if defined(__CUDACC__)
#include "largest_cuda.h"
#include "select_cuda.h"
#endif

namespace mgcompare::top_k {

namespace cpu {

// Radix selection, twelve bits at a time.
template <class First, class Again>
void select_largest(std::size_t n, First first, Again again, Span<std::uint32_t> indices, Span<std::uint64_t> scratch) {
  std::uint32_t* const bins = reinterpret_cast<std::uint32_t*>(scratch.data());
  std::size_t wanted = indices.size();  // among the keys with the digits found so far
  const auto digit = [&] {
    std::uint32_t bin = 4095;
    while (bin > 0 && bins[bin] < wanted) wanted -= bins[bin--];
    for (std::size_t b = 0; b < 4096; ++b) bins[b] = 0;
    return bin;
  };
  for (std::size_t b = 0; b < 4096; ++b) bins[b] = 0;
  for (std::size_t i = 0; i < n; ++i) ++bins[first(i) >> 19];
  const std::uint32_t high = digit();
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t key = again(i);
    if (key >> 19 == high) ++bins[(key >> 7) & 4095];
  }
  const std::uint32_t limit = high << 12 | digit();
  std::size_t found = 0;
  for (std::size_t i = 0; i < n && found < indices.size(); ++i) {
    const std::uint32_t key = again(i) >> 7;
    if (key < limit || (key == limit && wanted == 0)) continue;
    if (key == limit) --wanted;
    indices[found++] = static_cast<std::uint32_t>(i);
  }
}

}  // namespace cpu

// Scratch memory in 64-bit words for select() and select_largest() of up to n elements. Allocate it as a device array in
// Strategy::start.
constexpr std::size_t selection_scratch(std::size_t n) { return 8 + 4096 + n / 8192 + 1 + (n / 1024 + 1) * 32; }

// Writes the indices i < n with keep(i) to `indices`, ascending, as many as fit, and their total number to `count[0]`. All
// spans are in device memory. Stream-ordered.
template <class Keep>
void select(Device& device, std::size_t n, Keep keep, Span<std::uint32_t> indices, Span<std::uint32_t> count,
            [[maybe_unused]] Span<std::uint64_t> scratch) {
  if (runs_on_cpu(device)) {
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (!keep(i)) continue;
      if (found < indices.size()) indices[found] = static_cast<std::uint32_t>(i);
      ++found;
    }
    count[0] = found;
    return;
  }
#if defined(__CUDACC__)
  gpu::select(device, n, keep, indices, count, scratch);
#endif
}

// Writes the indices i < n of the indices.size() largest keys, ascending. Keys have 31 bits (such as magnitude_key) and are
// compared by their upper 24; of equal ones the first are taken. first(i) is called exactly once per element and may also
// compute what the key is of; again(i) returns the same key. Stream-ordered.
template <class First, class Again>
void select_largest(Device& device, std::size_t n, First first, Again again, Span<std::uint32_t> indices,
                    [[maybe_unused]] Span<std::uint64_t> scratch) {
  if (runs_on_cpu(device)) {
    cpu::select_largest(n, first, again, indices, scratch);
    return;
  }
#if defined(__CUDACC__)
  gpu::select_largest(device, n, first, again, indices, scratch);
#endif
}

MGCOMPARE_FUNCTION inline std::uint32_t magnitude_key(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
}

}  // namespace mgcompare::top_k
