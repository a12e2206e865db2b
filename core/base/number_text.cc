#include "base/number_text.h"

#include <cmath>

#include <fmt/format.h>

namespace mgcompare {

std::string thousands(double count) {
  std::string digits = fmt::format("{:.0f}", count);
  const std::size_t sign = digits.starts_with('-') ? 1 : 0;
  for (std::size_t i = digits.size(); i > 3 + sign; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string number_text(double value) {
  constexpr double kMostExact = 9007199254740992;  // 2^53
  if (value == std::floor(value) && std::abs(value) <= kMostExact) return thousands(value);
  // All digits where six are not enough.
  const std::string text = fmt::format("{:g}", value);
  return std::stod(text) == value ? text : fmt::format("{}", value);
}

}  // namespace mgcompare
