#pragma once

// The clock of all measurements. It is monotonic.

#include <chrono>

namespace mgcompare {

// Seconds since an arbitrary fixed time.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace mgcompare
