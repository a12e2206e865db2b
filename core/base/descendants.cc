#include "base/descendants.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

pid_t guardian = 0;                 // that adopts the orphans; 0: there is none

fs::path folder_of(pid_t process) { return fs::path("/proc") / std::to_string(process); }

// Of all threads of the process.
std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> all;
  std::error_code error;
  for (fs::directory_iterator task(folder_of(process) / "task", error), end; !error && task != end; task.increment(error)) {
    std::ifstream file(task->path() / "children");
    all.insert(all.end(), std::istream_iterator<pid_t>(file), {});
  }
  return all;
}

// Processor seconds of a process, and of the children that it has waited for, which the kernel counts in clock ticks.
struct Used {
  double own = 0, of_children = 0;
};

Used used_by(pid_t process) {
  std::ifstream file(folder_of(process) / "stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t name = text.rfind(')');  // which may contain spaces
  if (name == std::string::npos) return {};
  std::istringstream fields(text.substr(name + 1));
  constexpr int kBeforeTicks = 11;           // from the state to the major faults of children
  std::string skipped;
  for (int i = 0; i < kBeforeTicks; ++i) fields >> skipped;
  double user = 0, system = 0, user_of_children = 0, system_of_children = 0;
  fields >> user >> system >> user_of_children >> system_of_children;
  const auto ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  Used used{(user + system) / ticks_per_second, (user_of_children + system_of_children) / ticks_per_second};
  clockid_t clock;
  timespec time{};
  if (clock_getcpuclockid(process, &clock) == 0 && clock_gettime(clock, &time) == 0)
    used.own = static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  return used;
}

double seconds_of(const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); }

}  // namespace

void set_guardian_to_parent() { guardian = getppid(); }

std::vector<pid_t> descendants() {
  std::vector<pid_t> all = children_of(getpid());
  if (guardian != 0)
    for (const pid_t child : children_of(guardian))
      if (child != getpid()) all.push_back(child);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<pid_t> children = children_of(all[i]);
    all.insert(all.end(), children.begin(), children.end());
  }
  // One that loses its parent meanwhile is found twice.
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

double descendants_seconds() {
  rusage ended{};
  getrusage(RUSAGE_CHILDREN, &ended);
  double seconds = guardian == 0 ? 0 : used_by(guardian).of_children;
  for (const pid_t process : descendants()) {
    const Used used = used_by(process);
    seconds += used.own + used.of_children;
  }
  return seconds_of(ended.ru_utime) + seconds_of(ended.ru_stime) + seconds;
}

}  // namespace mgcompare
