#pragma once

// What a lie starts beside the ranks, or leaves in the process.

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "companions.h"

namespace mgcompare::testing {

class Leftovers {
 public:
  ~Leftovers() {
    if (!burning_) return;
    burning_->end();
    if (is_uncounted_) std::signal(SIGCHLD, SIG_DFL);
  }

  // Does nothing if the lie is of another kind.
  void start(const std::string& lie) {
    is_uncounted_ = lie == "burns uncounted";
    if (lie == "burns a core") burner_ = std::make_unique<Burner>();
    if (lie == "leaves a thread") std::thread([] { for (;;) pause(); }).detach();
    if (is_uncounted_) std::signal(SIGCHLD, SIG_IGN);
    if (lie == "burns in a process" || is_uncounted_) burning_.emplace(true);
    if (lie == "leaves a process") Child(false);
    if (lie == "leaves a descriptor") open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (lie == "leaves a variable") setenv("LIAR", std::to_string(++variables_).c_str(), 1);
  }

 private:
  static inline std::atomic<int> variables_ = 0;
  bool is_uncounted_ = false;
  std::optional<Child> burning_;
  std::unique_ptr<Burner> burner_;
};

}  // namespace mgcompare::testing
