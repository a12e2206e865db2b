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
constexpr char kCutFile[] =
    "\nmgcompare: another program cut a file short while this one used it, most likely results.sqlite-shm, so it ends here; trials that were "
    "printed as finished are kept, and --resume continues with them\n";
constexpr int kCutFileExit = 4;
// USR1, USR2 and XCPU are what batch systems send before they end a job at its time limit.
constexpr int kInterruptions[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU, SIGALRM, SIGPWR};

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

// SQLite maps its -shm file, which the readers of a run in progress need. Behind the end of a file there is no memory.
void on_bus_error(int number, siginfo_t* info, void*) {
  if (info->si_code == BUS_ADRERR) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kCutFile, sizeof(kCutFile) - 1);
    _exit(kCutFileExit);
  }
  signal(number, SIG_DFL);
  raise(number);
}

}  // namespace

void listen_to_signals() {
  wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct sigaction action{};
  action.sa_handler = on_signal;
  struct sigaction before{};
  for (const int number : kInterruptions) {
    // Started with nohup: keep ignoring the signal.
    if (sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    sigaction(number, &action, nullptr);
  }
  struct sigaction fault{};
  fault.sa_sigaction = on_bus_error;
  fault.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &fault, nullptr);
  // A pipe without a reader and the file size limit become errors of write().
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

int interruption() { return first_signal; }

int interruption_descriptor() { return wake; }

int exit_code_of(int signal) { return signal == SIGINT ? 130 : 143; }

}  // namespace mgcompare
