#include "measure/thread_usage.h"

#include <time.h>

#include <filesystem>
#include <iterator>

namespace mgcompare {
namespace {

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

double process_processor_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

double thread_processor_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

std::size_t thread_count() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

}  // namespace mgcompare
