#include "process/memory_limit.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string_view>

namespace mgcompare {
namespace {

constexpr double kGibibyte = 1024.0 * 1024 * 1024;
constexpr double kShareOfFree = 0.8;

// The number that follows the word `name` in a file of names and numbers.
std::optional<std::uint64_t> number_in(const std::string& file, std::string_view name) {
  std::ifstream stream(file);
  for (std::string word; stream >> word;)
    if (std::uint64_t number = 0; word == name && stream >> number) return number;
  return std::nullopt;
}

std::optional<double> number_in(const std::string& file) {
  std::ifstream stream(file);
  double number = 0;
  return stream >> number ? std::optional(number) : std::nullopt;
}

// Bytes of a group that the kernel frees when they are needed, such as the cache of files that were read.
double reclaimable(const std::string& file) {
  double bytes = 0;
  for (const std::string_view name : {"inactive_file", "active_file", "slab_reclaimable"})
    bytes += static_cast<double>(number_in(file, name).value_or(0));
  return bytes;
}

// Bytes left to the control group (version 2) of this process, if it has a limit.
double left_to_group() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;
    const std::string folder = "/sys/fs/cgroup" + line.substr(3);
    const auto limit = number_in(folder + "/memory.max"), used = number_in(folder + "/memory.current");
    if (limit && used) return std::max(0.0, *limit - (*used - reclaimable(folder + "/memory.stat")));
  }
  return std::numeric_limits<double>::max();
}

double bytes_left() {
  const auto available = number_in("/proc/meminfo", "MemAvailable:");
  return std::min(left_to_group(), available ? static_cast<double>(*available) * 1024 : std::numeric_limits<double>::max());
}

}  // namespace

MemoryLimit::MemoryLimit(double gibibytes) : gibibytes_(gibibytes > 0 ? gibibytes : kShareOfFree * bytes_left() / kGibibyte) {
  getrlimit(RLIMIT_DATA, &before_);
  // Sanitizers map many terabytes when the process starts, so the limit is relative to what there is.
  const auto held = number_in("/proc/self/status", "VmData:");
  const double bytes = static_cast<double>(held.value_or(0)) * 1024 + gibibytes_ * kGibibyte;
  if (bytes >= 0x1p63) return;
  rlimit limit = before_;
  limit.rlim_cur = std::min(static_cast<rlim_t>(bytes), before_.rlim_max);
  setrlimit(RLIMIT_DATA, &limit);
}

MemoryLimit::~MemoryLimit() { setrlimit(RLIMIT_DATA, &before_); }

std::optional<std::uint64_t> out_of_memory_kills(const std::string& file) { return number_in(file, "oom_kill"); }

}  // namespace mgcompare
