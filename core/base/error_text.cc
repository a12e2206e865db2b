#include "base/error_text.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/format.h>

namespace mgcompare {
namespace {

// "this process may have 10: raise the limit with `ulimit -n`"
std::string limit_text(__rlimit_resource_t resource, const char* unit, const char* option) {
  rlimit limit{};
  getrlimit(resource, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? fmt::format("see `ulimit {}`", option)
                                         : fmt::format("this process may have {}{}: raise the limit with `ulimit {}`", limit.rlim_cur, unit, option);
}

}  // namespace

std::string memory_limit_note() {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? "" : fmt::format(" ({})", limit_text(RLIMIT_AS, " bytes of address space", "-v"));
}

std::string processor_limit_note(int signal) {
  rlimit limit{};
  getrlimit(RLIMIT_CPU, &limit);
  const rlim_t seconds = signal == SIGXCPU ? limit.rlim_cur : signal == SIGKILL ? limit.rlim_max : RLIM_INFINITY;
  return seconds == RLIM_INFINITY ? "" : fmt::format(", perhaps at its limit of {} s of processor time: raise it with `ulimit -t`", seconds);
}

std::string with_memory_limit(std::string message) {
  // "failed to map segment" is the loader's.
  constexpr std::array kWords = {"memory", "bad_alloc", "failed to map segment"};
  const auto is_said = [&](const char* word) { return message.find(word) != std::string::npos; };
  if (std::any_of(kWords.begin(), kWords.end(), is_said) && !is_said("address space")) message += memory_limit_note();
  return message;
}

bool is_limit(int code) { return code == EMFILE || code == EFBIG || code == EAGAIN; }

std::string error_text(int code) {
  const std::string text = std::strerror(code);
  switch (code) {
    case EMFILE: return fmt::format("{} ({})", text, limit_text(RLIMIT_NOFILE, "", "-n"));
    case EFBIG: return fmt::format("{} ({})", text, limit_text(RLIMIT_FSIZE, " bytes in a file", "-f"));
    case EAGAIN: return fmt::format("{} (a limit on processes or memory was hit: see `ulimit -u` and `ulimit -v`)", text);
    default: return text;
  }
}

}  // namespace mgcompare
