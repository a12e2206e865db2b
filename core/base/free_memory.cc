#include "base/free_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/named_values.h"

namespace mgcompare {
namespace {

std::optional<double> first_number_in(const std::string& file) {
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
    const auto limit = first_number_in(folder + "/memory.max"), used = first_number_in(folder + "/memory.current");
    if (limit && used) return std::max(0.0, *limit - (*used - reclaimable(folder + "/memory.stat")));
  }
  return std::numeric_limits<double>::infinity();
}

// Bytes of a limit of this process of which /proc/self/status says what is used.
double left_of(int resource, std::string_view used) {
  rlimit limit{};
  getrlimit(resource, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return std::numeric_limits<double>::infinity();
  return static_cast<double>(limit.rlim_cur) - static_cast<double>(number_in("/proc/self/status", used).value_or(0)) * 1024;
}

}  // namespace

double usable_memory() {
  return std::max(0.0, std::min({free_memory(), left_of(RLIMIT_DATA, "VmData:"), left_of(RLIMIT_AS, "VmSize:")}));
}

double free_memory() {
  const auto available = number_in("/proc/meminfo", "MemAvailable:");
  return std::min(left_to_group(), available ? static_cast<double>(*available) * 1024 : std::numeric_limits<double>::infinity());
}

bool lacks_memory_for_stack() {
  constexpr rlim_t kUnlimited = 2 << 20;  // what glibc takes if the limit on stacks is infinite
  rlimit stack{};
  getrlimit(RLIMIT_STACK, &stack);
  return usable_memory() < static_cast<double>(stack.rlim_cur == RLIM_INFINITY ? kUnlimited : stack.rlim_cur);
}

}  // namespace mgcompare
