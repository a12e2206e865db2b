#include "process/guardian.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "base/descendants.h"
#include "process/process.h"

namespace mgcompare {
namespace {

// Ends this process as the worker ended.
[[noreturn]] void end_like(int status) {
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  signal(number, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  raise(number);
  _exit(128 + number);
}

// Reaps what has ended. Returns whether the worker is among it.
bool has_ended(pid_t worker, int& status) {
  int of_child = 0;
  for (pid_t id; (id = waitpid(-1, &of_child, WNOHANG)) > 0;) {
    if (id != worker) continue;
    status = of_child;
    return true;
  }
  return false;
}

[[noreturn]] void guard(pid_t worker, const sigset_t& signals) {
  prctl(PR_SET_NAME, "mgcompare-guard");
  // The worker's, by which each of the two other processes sees that the other one has ended.
  close(kChannelDescriptor);
  close(kPositionDescriptor);
  int status = 0;
  while (!has_ended(worker, status)) {
    const int number = sigwaitinfo(&signals, nullptr);
    if (number == SIGHUP) kill(-worker, SIGKILL);
    if (number == SIGTERM || number == SIGINT) kill(-worker, number);
  }
  sweep_orphans();
  end_like(status);
}

}  // namespace

void split_off_guardian() {
  adopt_orphans();
  sigset_t signals, before;
  sigemptyset(&signals);
  for (const int number : {SIGCHLD, SIGHUP, SIGTERM, SIGINT}) sigaddset(&signals, number);
  sigprocmask(SIG_BLOCK, &signals, &before);
  const pid_t guardian = getpid(), worker = fork();
  if (worker < 0) {
    std::perror("mgcompare: cannot start a worker process");
    _exit(127);
  }
  setpgid(worker, worker);
  if (worker > 0) guard(worker, signals);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guardian) _exit(127);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  set_guardian_to_parent();
}

}  // namespace mgcompare
