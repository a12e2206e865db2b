#pragma once

// Limits on time in tests that other processes do not lengthen.

#include <ctime>

namespace mgcompare {

// Processor time of the calling thread.
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace mgcompare
