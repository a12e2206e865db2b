#pragma once

// What can work beside the ranks of a training.

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

// A child process. It ends with this process at the latest.
class Child {
 public:
  explicit Child(bool computes) : id_(fork()) {
    if (id_ != 0) return;
    for (const pid_t parent = getppid(); getppid() == parent;)
      if (!computes) usleep(20'000);
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
