#include "base/debugger.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mgcompare {
namespace {

// A child that waits until it is killed.
class Child {
 public:
  explicit Child(bool is_traced_by_its_child = false) {
    id_ = fork();
    if (id_ != 0) return;
    if (is_traced_by_its_child && fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      ptrace(PTRACE_SEIZE, getppid(), nullptr, nullptr);
    }
    for (;;) pause();
  }
  ~Child() {
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  pid_t id() const { return id_; }

 private:
  pid_t id_;
};

TEST(Debugger, HoldsAProcess) {
  const Child child;
  EXPECT_FALSE(is_debugged());
  if (ptrace(PTRACE_SEIZE, child.id(), nullptr, nullptr) != 0) GTEST_SKIP() << "this system permits no debugger";
  EXPECT_TRUE(is_debugged());
}

TEST(Debugger, OfAPluginDoesNotCount) {
  const Child child(true);
  for (int i = 0; i < 50; ++i) {
    ASSERT_FALSE(is_debugged());
    usleep(2000);
  }
}

}  // namespace
}  // namespace mgcompare
