#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

#include "cli/directory.h"
#include "cli/environment.h"
#include "process/signals.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

class InNewFolder : public testing::Test {
 protected:
  void SetUp() override {
    before_ = fs::current_path();
    std::string pattern = testing::TempDir() + "placesXXXXXX";
    folder_ = mkdtemp(pattern.data());
    fs::current_path(folder_);
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(folder_);
  }
  fs::path before_, folder_;
};

TEST_F(InNewFolder, ARunNeverGetsAFolderThatIsTaken) {
  const std::string fresh = new_run_directory("lenet");
  EXPECT_EQ(fresh.find("runs/lenet-"), 0u);
  fs::create_directories(fresh);
  EXPECT_NE(new_run_directory("lenet"), fresh);
}

TEST(Environment, SaysWhatMattersAndNothingElse) {
  setenv("OMP_TEST_ONLY", "1\x1b[31m", 1);
  setenv("SECRET_OF_THE_USER", "hidden", 1);
  PlatformSummary cpu;
  cpu.kind = "cpu";
  cpu.devices = {{"cpu", 0, "core 0", 0, {}}};
  cpu.facts = {{"oneDNN", "2.6.3"}};
  PlatformSummary broken;
  broken.kind = "other";
  broken.problem = "no driver";
  std::map<std::string, std::string> facts;
  for (const auto& [name, value] : capture_environment({cpu, broken})) {
    facts[name] = value;
    EXPECT_FALSE(value.empty()) << name;
    EXPECT_EQ(value.find("hidden"), std::string::npos);
  }
  unsetenv("OMP_TEST_ONLY");
  for (const char* name : {"cpu", "cpu cores", "memory", "kernel", "libc", "compiler"}) EXPECT_TRUE(facts.contains(name));
  EXPECT_EQ(facts["OMP_TEST_ONLY"], "1");
  EXPECT_EQ(facts["oneDNN"], "2.6.3");
  EXPECT_EQ(facts["other devices"], "no driver");
  EXPECT_EQ(facts["cpu:0"], "core 0");
}

int exit_code_after(const std::vector<int>& signals, std::chrono::milliseconds pause = std::chrono::milliseconds(0)) {
  const pid_t child = fork();
  if (child == 0) {
    listen_to_signals();
    for (const int number : signals) {
      raise(number);
      std::this_thread::sleep_for(pause);
    }
    _exit(interruption() == 0 ? 0 : exit_code_of(interruption()));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(Signals, FirstIsNotedSecondEnds) {
  EXPECT_EQ(exit_code_after({}), 0);
  EXPECT_EQ(exit_code_after({SIGPIPE}), 0);
  EXPECT_EQ(exit_code_after({SIGINT}), 130);
  EXPECT_EQ(exit_code_after({SIGTERM}), 143);
  EXPECT_EQ(exit_code_after({SIGHUP}), 143);
  const std::chrono::milliseconds later(600);
  EXPECT_EQ(exit_code_after({SIGTERM, SIGINT}, later), 130) << "at once, with the code of the second";
  EXPECT_EQ(exit_code_after({SIGTERM, SIGINT}), 143) << "within half a second it is the same";
  EXPECT_EQ(exit_code_after({SIGTERM, SIGINT, SIGINT}, later / 2), 130);
}

}  // namespace
}  // namespace mgcompare
