#include "process/signals.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace mgcompare {
namespace {

constexpr std::int64_t kSameSignalNanoseconds = 500'000'000;
constexpr char kAtOnce[] =
    "\nmgcompare: ended at once by a second signal; no report was written (`mgcompare report DIR` writes one of the stored "
    "trials)\n";

std::atomic<int> first_signal{0};
std::atomic<std::int64_t> first_time{0};
int wake = -1;

std::int64_t nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void on_signal(int number) {
  const int saved = errno;
  int none = 0;
  if (first_signal.compare_exchange_strong(none, number)) {
    first_time = nanoseconds();
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake, &one, sizeof(one));
  } else if (first_time != 0 && nanoseconds() - first_time > kSameSignalNanoseconds) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kAtOnce, sizeof(kAtOnce) - 1);
    // The guardians of the workers see it and kill them.
    _exit(exit_code_of(number));
  }
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
