#pragma once

// What can work beside the ranks of a training.

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

namespace mgcompare::testing {

// A thread that works beside the ranks until it is destroyed.
class Burner {
 public:
  Burner() : thread_([this] { while (!stop_) turns_ = turns_ + 1; }) {}
  ~Burner() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<unsigned> turns_{0};
  std::thread thread_;
};

// A child process. It ends with this process at the latest. One that does not compute takes no processor time, which would be counted for
// later strategies of this process.
class Child {
 public:
  explicit Child(bool computes) {
    const pid_t parent = getpid();
    id_ = fork();
    if (id_ != 0) return;
    pollfd parents_end{static_cast<int>(syscall(SYS_pidfd_open, parent, 0)), POLLIN, 0};
    if (!computes && parents_end.fd >= 0) poll(&parents_end, 1, -1);
    while (getppid() == parent)
      if (!computes) usleep(20'000);  // kernels before 5.3 have no pidfd_open()
    _exit(0);
  }
  void end() const {
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }

 private:
  pid_t id_;
};

}  // namespace mgcompare::testing
