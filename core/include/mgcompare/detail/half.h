#pragma once

// Conversions of Half and BFloat16. Included by types.h.

#include <bit>

namespace mgcompare {

MGCOMPARE_FUNCTION inline Half Half::from(float value) {
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

MGCOMPARE_FUNCTION inline float Half::value() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  if (magnitude < 0x400u) {
    const float size = static_cast<float>(magnitude) / 16777216.0f;
    return sign ? -size : size;
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
}

MGCOMPARE_FUNCTION inline BFloat16 BFloat16::from(float value) {
  const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
  if ((word & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((word >> 16) | 0x40u)};
  return {static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16)};
}

MGCOMPARE_FUNCTION inline float BFloat16::value() const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace mgcompare
