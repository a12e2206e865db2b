#pragma once

// The processors on which the calling thread may run.

#include <sched.h>

#include <optional>

namespace mgcompare {

// Nothing on a machine with more than a thousand.
inline std::optional<cpu_set_t> thread_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::optional(set) : std::nullopt;
}

// Gives the thread those back that it has now.
class KeptProcessors {
 public:
  KeptProcessors() : before_(thread_processors()) {}
  ~KeptProcessors() {
    if (before_) sched_setaffinity(0, sizeof *before_, &*before_);
  }
  KeptProcessors(const KeptProcessors&) = delete;
  KeptProcessors& operator=(const KeptProcessors&) = delete;

 private:
  std::optional<cpu_set_t> before_;
};

}  // namespace mgcompare
