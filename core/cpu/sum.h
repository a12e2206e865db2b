#pragma once

// Sums over ranks, in their order, of vectors of any type that reductions have.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "mgcompare/types.h"

namespace mgcompare {

// Elements whose sum stays in the L1 cache while all ranks are added.
inline constexpr std::size_t kSumBlock = 2048;

inline float widen(float value) { return value; }
inline float widen(Half value) { return value.value(); }
inline float widen(BFloat16 value) { return value.value(); }
inline std::uint32_t widen(std::uint8_t value) { return value; }
inline std::uint32_t widen(std::uint32_t value) { return value; }

template <class T, class Sum> T narrow(Sum sum) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return T::from(sum);
  else return static_cast<T>(sum);
}

// to[k][i] = sum over ranks of from[r][i], for i in the range and every k. A target may be one of the sources.
template <class T>
void add_ranks(const std::vector<const T*>& from, const std::vector<T*>& to, Range range) {
  using Sum = decltype(widen(T{}));
  alignas(64) Sum sum[kSumBlock];
  for (std::size_t begin = range.begin; begin < range.end; begin += kSumBlock) {
    const std::size_t n = std::min(kSumBlock, range.end - begin);
    for (std::size_t i = 0; i < n; ++i) sum[i] = widen(from[0][begin + i]);
    for (std::size_t r = 1; r < from.size(); ++r)
      for (std::size_t i = 0; i < n; ++i) sum[i] += widen(from[r][begin + i]);
    for (T* target : to)
      for (std::size_t i = 0; i < n; ++i) target[begin + i] = narrow<T>(sum[i]);
  }
}

// Calls f with a value of the type.
template <class F> void with_type(Type type, F f) {
  switch (type) {
    case Type::float32: return f(float{});
    case Type::float16: return f(Half{});
    case Type::bfloat16: return f(BFloat16{});
    case Type::uint8: return f(std::uint8_t{});
    case Type::uint32: return f(std::uint32_t{});
  }
}

inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memmove(to, from, bytes);
}

inline char* at(void* data, std::size_t bytes) { return static_cast<char*>(data) + bytes; }

}  // namespace mgcompare
