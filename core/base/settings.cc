#include "base/settings.h"

#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cfenv>
#include <clocale>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <locale>
#include <new>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "base/named_values.h"

namespace mgcompare {
namespace {

// Bits of MXCSR that say what happened, not what shall be done.
constexpr unsigned kExceptionFlags = 0x3f;
// SA_RESTORER, which the C library adds to the flags of every handler that is set, also of one that is restored.
constexpr int kSetByTheLibrary = 0x04000000;

std::string denormals() {
#ifdef __SSE__
  return fmt::format("{:x}", _mm_getcsr() & ~kExceptionFlags);
#else
  return "";
#endif
}

std::string processors() {
  // Larger than any machine: the call fails if the mask has more bits.
  std::array<unsigned long, 1024> mask{};
  const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask.data());
  return bytes < 0 ? "" : fmt::format("{:x}", fmt::join(mask.begin(), mask.begin() + bytes / static_cast<long>(sizeof mask[0]), ","));
}

std::string blocked_signals() {
  sigset_t set;
  pthread_sigmask(SIG_BLOCK, nullptr, &set);
  std::string text;
  for (int number = 1; number < NSIG; ++number) text += sigismember(&set, number) == 1 ? '1' : '0';
  return text;
}

constexpr char kStatus[] = "/proc/self/status";

// How the kernel treats the memory of the process.
std::string memory_policy() {
  std::string adjustment;
  std::ifstream("/proc/self/oom_score_adj") >> adjustment;
  // Drivers of devices may lock some pages; mlockall() locks all.
  const bool locks = 2 * number_in(kStatus, "VmLck:").value_or(0) > number_in(kStatus, "VmRSS:").value_or(0);
  int mode = 0;
  syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0);
  return fmt::format("{} {} {} {}", prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0), locks, adjustment, mode);
}

std::string limits() {
  std::vector<rlim_t> values;
  for (int resource = 0; resource < RLIMIT_NLIMITS; ++resource) {
    // The program itself limits the memory of trials.
    if (resource == RLIMIT_DATA) continue;
    rlimit limit{};
    getrlimit(static_cast<__rlimit_resource>(resource), &limit);
    values.insert(values.end(), {limit.rlim_cur, limit.rlim_max});
  }
  return fmt::format("{}", fmt::join(values, ","));
}

std::string timers() {
  std::string running;
  for (const auto timer : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
    itimerval value{};
    getitimer(timer, &value);
    const bool runs = value.it_value.tv_sec != 0 || value.it_value.tv_usec != 0;
    running += runs ? '1' : '0';
  }
  // Of timer_create(): a line "ID: 3" for each. Kernels without CONFIG_CHECKPOINT_RESTORE have no such file.
  std::size_t created = 0;
  std::ifstream file("/proc/self/timers");
  for (std::string line; std::getline(file, line);) created += line.starts_with("ID:") ? 1 : 0;
  return fmt::format("{} {}", running, created);
}

std::string signal_handlers() {
  std::string text;
  for (int number = 1; number < NSIG; ++number) {
    // Those below SIGRTMIN that the C library keeps to itself.
    if (number >= __SIGRTMIN && number < SIGRTMIN) continue;
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0)
      text += fmt::format("{}/{:x},", reinterpret_cast<std::uintptr_t>(action.sa_handler), action.sa_flags & ~kSetByTheLibrary);
  }
  return text;
}

std::string text_of(const char* file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string scheduling() {
  // "/autogroup-7 nice 0": every session has a group of its own.
  const std::string group = text_of("/proc/self/autogroup");
  return fmt::format("{} {} {}", syscall(SYS_ioprio_get, 1, 0), prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), group.substr(std::min(group.size(), group.find(' '))));
}

// Who the process is for the kernel, and what it may do.
std::string rights() {
  return fmt::format("{} {} {} {} {} {} {} {:x}", geteuid(), getegid(), word_in(kStatus, "CapEff:"), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
                     word_in(kStatus, "Seccomp:"), prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0), prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), personality(0xffffffff));
}

// Where the process belongs.
std::string groups() {
  int adopts = 0;
  prctl(PR_GET_CHILD_SUBREAPER, &adopts, 0, 0, 0);
  std::string text = fmt::format("{} {} {} {}", getpgrp(), getsid(0), adopts, text_of("/proc/self/cgroup"));
  for (const char* name : {"mnt", "ipc", "uts", "net", "pid", "user"}) {
    std::error_code ignored;
    text += std::filesystem::read_symlink(fmt::format("/proc/self/ns/{}", name), ignored).string() + '\n';
  }
  return text;
}

std::string cxx_handlers() {
  return fmt::format("{} {}", reinterpret_cast<std::uintptr_t>(std::get_terminate()), reinterpret_cast<std::uintptr_t>(std::get_new_handler()));
}

// To what the first three descriptors lead. An open descriptor that replaces another one changes no count.
std::string standard_streams() {
  std::string text;
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    std::error_code ignored;
    text += std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", number), ignored).string() + '\n';
  }
  return text;
}

// Libraries of GPUs set variables of their own when they are opened.
std::string environment() {
  std::string text;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view entry = *variable;
    if (entry.starts_with("CUDA_") || entry.starts_with("NCCL_")) continue;
    text += entry;
    text += '\n';
  }
  return text;
}

}  // namespace

Settings thread_settings() {
  errno = 0;
  return {{"the rounding mode", fmt::format("{}", std::fegetround())},
          {"the modes of floating-point arithmetic", denormals()},
          {"the processors that it may run on", processors()},
          {"the priority", fmt::format("{} {}", getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())), sched_getscheduler(0))},
          {"the blocked signals", blocked_signals()}};
}

Settings process_settings() {
  std::error_code ignored;
  return {{"the working directory", std::filesystem::current_path(ignored).string()},
          // umask() could only set it, for all threads.
          {"the file mode mask", word_in(kStatus, "Umask:")},
          {"the resource limits", limits()},
          {"the memory policy", memory_policy()},
          {"the timers", timers()},
          {"the signal handlers", signal_handlers()},
          {"the handlers of C++", cxx_handlers()},
          {"the scheduling", scheduling()},
          {"the rights", rights()},
          {"the session, control group or namespaces", groups()},
          {"the environment variables", environment()},
          {"the standard streams", standard_streams()},
          {"the locale", fmt::format("{} {}", std::setlocale(LC_ALL, nullptr), std::locale().name())}};
}

bool counts_ended_children() {
  struct sigaction action {};
  return sigaction(SIGCHLD, nullptr, &action) != 0 || (action.sa_handler != SIG_IGN && (action.sa_flags & SA_NOCLDWAIT) == 0);
}

void reset_arithmetic() { std::fesetenv(FE_DFL_ENV); }

std::string changed_settings(const Settings& before, const Settings& after) {
  std::vector<std::string> names;
  for (const auto& [name, value] : before)
    if (const auto found = after.find(name); found == after.end() || found->second != value) names.push_back(name);
  if (names.empty()) return "";
  const std::string last = names.back();
  names.pop_back();
  return names.empty() ? last : fmt::format("{} and {}", fmt::join(names, ", "), last);
}

}  // namespace mgcompare
