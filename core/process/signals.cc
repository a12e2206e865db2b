#include "process/signals.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "process/process.h"

namespace mgcompare {
namespace {

std::atomic<int> first_signal{0};
int wake = -1;

void on_signal(int number) {
  const int saved = errno;
  int none = 0;
  if (!first_signal.compare_exchange_strong(none, number)) {
    kill_children();
    _exit(exit_code_of(number));
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake, &one, sizeof(one));
  errno = saved;
}

}  // namespace

void listen_to_signals() {
  wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct sigaction action{};
  action.sa_handler = on_signal;
  struct sigaction before{};
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    // Started with nohup: keep ignoring the signal.
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    sigaction(number, &action, nullptr);
  }
  // A pipe without a reader and the file size limit become errors of write().
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

int interruption() { return first_signal; }

int interruption_descriptor() { return wake; }

int exit_code_of(int signal) { return signal == SIGINT ? 130 : 143; }

}  // namespace mgcompare
