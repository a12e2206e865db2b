#include "process/child.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/error_text.h"
#include "mgcompare/error.h"

namespace mgcompare {

std::string Ending::text() const {
  if (signal == 0) return fmt::format("exit code {}", code);
  const char* const name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

Ending ending_of(int status) { return WIFEXITED(status) ? Ending{0, WEXITSTATUS(status)} : Ending{WTERMSIG(status), 0}; }

std::vector<char*> exec_list(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

Descriptor watch_child(pid_t child, const std::string& name) {
  // Debian 12's <sys/pidfd.h> cannot be linked from C++.
  Descriptor watch(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  if (watch.number() >= 0) return watch;
  const int code = errno;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  throw Error(fmt::format("cannot watch {}: {}{}", name, error_text(code),
                          code == ENOSYS ? "; the kernel must be 5.3 or newer" : is_limit(code) ? "" : "; end other processes and run the command again"));
}

}  // namespace mgcompare
