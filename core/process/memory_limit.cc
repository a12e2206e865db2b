#include "process/memory_limit.h"

#include <algorithm>

#include "base/free_memory.h"
#include "base/named_values.h"

namespace mgcompare {
namespace {

constexpr double kGibibyte = 1024.0 * 1024 * 1024;
constexpr double kShareOfFree = 0.8;

}  // namespace

double held_memory() { return static_cast<double>(number_in("/proc/self/status", "VmData:").value_or(0)) * 1024; }

double usual_memory_limit() { return kShareOfFree * free_memory() / kGibibyte; }

MemoryLimit::MemoryLimit(double gibibytes, double held) : gibibytes_(gibibytes > 0 ? gibibytes : usual_memory_limit()) {
  getrlimit(RLIMIT_DATA, &before_);
  // Sanitizers map many terabytes when the process starts, so the limit is relative to what there is.
  const double bytes = held + gibibytes_ * kGibibyte;
  if (bytes >= 0x1p63) return;
  rlimit limit = before_;
  limit.rlim_cur = std::min(static_cast<rlim_t>(bytes), before_.rlim_max);
  setrlimit(RLIMIT_DATA, &limit);
}

MemoryLimit::~MemoryLimit() { setrlimit(RLIMIT_DATA, &before_); }

std::optional<std::uint64_t> out_of_memory_kills(const std::string& file) { return number_in(file, "oom_kill"); }

}  // namespace mgcompare
