#pragma once

// Starts the real program in a temporary directory and inspects its exit code, output and files.

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "results/results_store.h"

namespace mgcompare {

struct Ended {
  int code = -1;                    // exit code, or minus the signal
  std::string out, err;
};

std::string text_of(const std::filesystem::path& file);

// A running program. Its output goes to files, so that no pipe can fill up and block it.
class Program {
 public:
  Program(const std::filesystem::path& folder, const std::filesystem::path& program,
          const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment);
  ~Program();
  pid_t id() const { return id_; }
  // Returns whether `text` appears on stderr within the time.
  bool says(const std::string& text, double seconds) const;
  void signal(int number) const;
  Ended wait(std::chrono::seconds patience = std::chrono::minutes(2));  // kills the program so long after the call

 private:
  std::filesystem::path out_, err_;
  pid_t id_ = -1;
};

// A temporary directory with the shipped and the faulty plugins. The destructor removes it.
class Workplace {
 public:
  Workplace();
  ~Workplace();
  const std::filesystem::path& folder() const { return folder_; }
  // From now on uses a copy of the program whose GPUs are tests/fakes/gpus.cc.
  void use_fake_gpus();
  // From now on uses a copy of the program and of its CPU back end, which the test may replace.
  void use_own_program();
  std::string write(const std::string& name, const std::string& text) const;  // returns the path
  Program start(const std::vector<std::string>& arguments, std::map<std::string, std::string> environment = {}) const;
  Ended run(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment = {}) const;
  // The same through a shell script, in which $0 is the program: R"(exec "$0" "$@" 2>/dev/full)".
  Ended run_by_shell(const std::string& script, const std::vector<std::string>& arguments) const;
  bool has_runs() const;
  Run only_run() const;             // the only run below runs/

 private:
  std::filesystem::path folder_;
  std::filesystem::path program_;
};

// Empty if the program, its modules and the plugins are built; otherwise names what is missing.
std::string missing_piece();

// A test of the built program in a directory of its own; skipped where something is not built. A fixture with another SetUp()
// calls this one first, and returns if IsSkipped().
class CommandTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = missing_piece(); !missing.empty()) GTEST_SKIP() << missing;
  }
  Workplace place_;
};

// Returns whether a process that the tests' programs started is still alive. Waits at most ten seconds.
bool anything_survives();

// A small network on a few built-in digits; `rest` gives the strategies and overrides.
std::string small_config(const std::string& rest);

const Row& row_of(const Run& run, const std::string& label);

}  // namespace mgcompare
