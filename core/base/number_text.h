#pragma once

// Numbers in sentences for users, and in what users write.

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace mgcompare {

// "12,345"; rounded to a whole number.
std::string thousands(double count);
template <std::integral Count> std::string thousands(Count count) { return thousands(static_cast<double>(count)); }

// All digits of a whole number, "1,000,000,000"; other numbers as short as they can be, "0.001" or "1e-30".
std::string number_text(double value);

// The number that all of the text is, in decimal and without spaces or a plus sign; nothing for any other text.
template <class T> std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace mgcompare
