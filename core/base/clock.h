#pragma once

// The clock of everything that is measured. It never jumps.

#include <chrono>

namespace mgcompare {

// Seconds since some moment before the program began.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace mgcompare
