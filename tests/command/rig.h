#pragma once

// Starts the real program in a folder of its own and looks at everything that a user and a shell can see of it.

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

// A program that runs. Its output goes to files, so that nobody has to read while it runs.
class Program {
 public:
  Program(const std::filesystem::path& folder, const std::filesystem::path& program,
          const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment);
  ~Program();
  pid_t id() const { return id_; }
  // Whether `text` came on stderr within the time.
  bool says(const std::string& text, double seconds) const;
  void signal(int number) const;
  Ended wait();                     // kills it after two minutes

 private:
  std::filesystem::path out_, err_;
  std::chrono::steady_clock::time_point begin_;
  pid_t id_ = -1;
};

// A folder that is gone after the test, with the shipped plugins and the bad ones.
class Workplace {
 public:
  Workplace();
  ~Workplace();
  const std::filesystem::path& folder() const { return folder_; }
  // From now on the program is a copy of its own whose GPUs are tests/fakes/gpus.cc.
  void use_fake_gpus();
  std::string write(const std::string& name, const std::string& text) const;  // the path
  Program start(const std::vector<std::string>& arguments, std::map<std::string, std::string> environment = {}) const;
  Ended run(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment = {}) const;
  // The same by a shell's script, in which $0 is the program: R"(exec "$0" "$@" 2>/dev/full)".
  Ended run_by_shell(const std::string& script, const std::vector<std::string>& arguments) const;
  bool has_runs() const;
  Run only_run() const;             // the one run below runs/

 private:
  std::filesystem::path folder_;
  std::filesystem::path program_;
};

// The program, its modules and the plugins are built; otherwise the words that say what is missing.
std::string missing_piece();

// Whether a process that this test's programs started lives on. Waits for ten seconds at most.
bool anything_survives();

// A small network on a few drawn digits; `rest` gives the strategies and overrides.
std::string small_config(const std::string& rest);

const Row& row_of(const Run& run, const std::string& label);

}  // namespace mgcompare
