#pragma once

// The element types that travel between devices, and views of memory.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mgcompare/portable.h"

namespace mgcompare {

enum class DeviceKind { cpu, cuda };

enum class Type { float32, float16, bfloat16, uint8, uint32 };

// IEEE 754 binary16: storage only; compute in float. Rounds to nearest even, overflows to infinity.
struct Half {
  std::uint16_t bits;
  MGCOMPARE_FUNCTION static Half from(float value) {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (word >> 16) & 0x8000u;
    const std::uint32_t magnitude = word & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return {static_cast<std::uint16_t>(sign | 0x7e00u)};
    if (magnitude >= 0x47800000u) return {static_cast<std::uint16_t>(sign | 0x7c00u)};
    if (magnitude < 0x38800000u) {  // below 2^-14: subnormal, in units of 2^-24
      const float units = std::bit_cast<float>(magnitude) * 16777216.0f;
      std::uint32_t whole = static_cast<std::uint32_t>(units);
      const float rest = units - static_cast<float>(whole);
      whole += rest > 0.5f || (rest == 0.5f && (whole & 1u)) ? 1u : 0u;
      return {static_cast<std::uint16_t>(sign | whole)};
    }
    const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return {static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13))};
  }
  MGCOMPARE_FUNCTION float value() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
    if (magnitude < 0x400u) {
      const float size = static_cast<float>(magnitude) / 16777216.0f;
      return sign ? -size : size;
    }
    return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
  }
};

// The upper half of a float32: its range, eight bits of precision. Rounds to nearest even.
struct BFloat16 {
  std::uint16_t bits;
  MGCOMPARE_FUNCTION static BFloat16 from(float value) {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((word >> 16) | 0x40u)};
    return {static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16)};
  }
  MGCOMPARE_FUNCTION float value() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

template <class T> inline constexpr Type type_of = Type::uint8;
template <> inline constexpr Type type_of<float> = Type::float32;
template <> inline constexpr Type type_of<Half> = Type::float16;
template <> inline constexpr Type type_of<BFloat16> = Type::bfloat16;
template <> inline constexpr Type type_of<std::uint32_t> = Type::uint32;

constexpr std::size_t size_of(Type type) {
  return type == Type::uint8 ? 1 : type == Type::float16 || type == Type::bfloat16 ? 2 : 4;
}

// A half-open range of elements.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  constexpr std::size_t size() const { return end - begin; }
};

// The k-th of n nearly equal consecutive ranges of `count` elements; some are empty when count < n.
MGCOMPARE_FUNCTION constexpr Range share(std::size_t count, std::size_t k, std::size_t n) {
  return {count * k / n, count * (k + 1) / n};
}

// A view of consecutive elements in the memory of one device (or of the host, where the text says so). It owns nothing.
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
  MGCOMPARE_FUNCTION constexpr Span slice(Range range) const { return {data_ + range.begin, range.size()}; }
  // Dereferences: only where the memory is the caller's (host code: the host's; a functor: the device's).
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
