#pragma once

// Included by error.h.

#include <cstdio>

namespace mgcompare {

// "1.61 GiB", "32.0 MiB", "1000 bytes"
inline std::string OutOfMemory::size_text(std::size_t bytes) {
  constexpr double kMiB = 1 << 20, kGiB = 1 << 30;
  const auto count = static_cast<double>(bytes);
  char text[32];
  if (count >= kGiB) std::snprintf(text, sizeof text, "%.2f GiB", count / kGiB);
  else if (count >= kMiB) std::snprintf(text, sizeof text, "%.1f MiB", count / kMiB);
  else std::snprintf(text, sizeof text, "%zu bytes", bytes);
  return text;
}

}  // namespace mgcompare
