#pragma once

// Element types, ranges, and views of memory. Everything here is a plain value, usable on any thread and on any device.
// MGCOMPARE_FUNCTION marks functions that run on the host and on GPUs.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mgcompare/detail/portable.h"

namespace mgcompare {

enum class DeviceKind { cpu, cuda };

enum class Type { float32, float16, bfloat16, uint8, uint32 };

// IEEE 754 binary16, for storage and transfer; compute in float. Rounds to nearest even, overflows to infinity.
struct Half {
  std::uint16_t bits;
  MGCOMPARE_FUNCTION static Half from(float value);
  MGCOMPARE_FUNCTION float value() const;
};

// The upper half of a float32: the same range, 8 bits of precision. Rounds to nearest even.
struct BFloat16 {
  std::uint16_t bits;
  MGCOMPARE_FUNCTION static BFloat16 from(float value);
  MGCOMPARE_FUNCTION float value() const;
};

template <class T> inline constexpr Type type_of = Type::uint8;
template <> inline constexpr Type type_of<float> = Type::float32;
template <> inline constexpr Type type_of<Half> = Type::float16;
template <> inline constexpr Type type_of<BFloat16> = Type::bfloat16;
template <> inline constexpr Type type_of<std::uint32_t> = Type::uint32;

// Bytes of one element.
constexpr std::size_t size_of(Type type) {
  return type == Type::uint8 ? 1 : type == Type::float16 || type == Type::bfloat16 ? 2 : 4;
}

// Elements [begin, end).
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  constexpr std::size_t size() const { return end - begin; }
};

// The k-th of n consecutive, nearly equal ranges of `count` elements. Some are empty when count < n.
MGCOMPARE_FUNCTION constexpr Range share(std::size_t count, std::size_t k, std::size_t n) {
  return {count * k / n, count * (k + 1) / n};
}

// A non-owning view of consecutive elements in device memory, or in host memory where the documentation says so.
template <class T> class Span {
 public:
  constexpr Span() = default;
  MGCOMPARE_FUNCTION constexpr Span(T* data, std::size_t size) : data_(data), size_(size) {}
  template <class U> requires std::is_same_v<const U, T>
  MGCOMPARE_FUNCTION constexpr Span(Span<U> other) : data_(other.data()), size_(other.size()) {}
  MGCOMPARE_FUNCTION constexpr T* data() const { return data_; }
  MGCOMPARE_FUNCTION constexpr std::size_t size() const { return size_; }
  MGCOMPARE_FUNCTION constexpr std::size_t bytes() const { return size_ * sizeof(T); }
  MGCOMPARE_FUNCTION constexpr bool empty() const { return size_ == 0; }
  // `range` is not checked.
  MGCOMPARE_FUNCTION constexpr Span slice(Range range) const { return {data_ + range.begin, range.size()}; }
  // These access the memory directly. Host code may use them on host memory and on the memory of a CPU device, a functor
  // on the memory of its device. The index is not checked.
  MGCOMPARE_FUNCTION constexpr T& operator[](std::size_t i) const { return data_[i]; }
  MGCOMPARE_FUNCTION constexpr T* begin() const { return data_; }
  MGCOMPARE_FUNCTION constexpr T* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

using Vec = Span<float>;
using ConstVec = Span<const float>;

}  // namespace mgcompare

#include "mgcompare/detail/half.h"
