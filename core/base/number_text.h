#pragma once

// Numbers in sentences for users.

#include <concepts>
#include <string>

namespace mgcompare {

// "12,345"; rounded to a whole number.
std::string thousands(double count);
template <std::integral Count> std::string thousands(Count count) { return thousands(static_cast<double>(count)); }

// All digits of a whole number, "1,000,000,000"; other numbers as short as they can be, "0.001" or "1e-30".
std::string number_text(double value);

}  // namespace mgcompare
