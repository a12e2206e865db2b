#include "rig.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;


fs::path built_program() { return fs::path(MGCOMPARE_BINARY_DIR) / "bin" / "mgcompare"; }

fs::path bad_plugins() { return fs::path(MGCOMPARE_BINARY_DIR) / "lib" / "mgcompare" / "bad_plugins"; }

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

}  // namespace

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Program::Program(const fs::path& folder, const fs::path& program, const std::vector<std::string>& arguments,
                 const std::map<std::string, std::string>& environment) {
  static int number = 0;
  ++number;
  out_ = folder / ("stdout-" + std::to_string(number));
  err_ = folder / ("stderr-" + std::to_string(number));
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  // Orphaned descendants of the program become children of this process, so that tests can find them.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  id_ = fork();
  if (id_ != 0) return;
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  const int out = open(out_.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
  const int err = open(err_.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  if (chdir(folder.c_str()) != 0) _exit(126);
  execv(pointers[0], pointers.data());
  _exit(127);
}

Program::~Program() {
  if (id_ > 0) {
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
}

bool Program::says(const std::string& text, double seconds) const {
  const auto begin = Clock::now();
  while (text_of(err_).find(text) == std::string::npos) {
    if (seconds_since(begin) > seconds) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

void Program::signal(int number) const { kill(id_, number); }

Ended Program::wait(std::chrono::seconds patience) {
  const auto begin = Clock::now();
  int status = 0;
  while (waitpid(id_, &status, WNOHANG) == 0) {
    if (Clock::now() - begin > patience) kill(id_, SIGKILL);
    std::this_thread::sleep_for(2ms);
  }
  id_ = -1;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), text_of(out_), text_of(err_)};
}

Workplace::Workplace() : program_(built_program()) {
  std::string pattern = (fs::temp_directory_path() / "mgcompareXXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = pattern;
}

Workplace::~Workplace() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Workplace::use_own_program() {
  const fs::path built = built_program().parent_path().parent_path();
  program_ = folder_ / "bin" / "mgcompare";
  fs::create_directories(folder_ / "bin");
  fs::create_directories(folder_ / "lib" / "mgcompare");
  fs::copy_file(built_program(), program_);
  fs::copy_file(built / "lib/mgcompare/platform_cpu.so", folder_ / "lib/mgcompare/platform_cpu.so");
  fs::create_symlink(built / "lib/mgcompare/plugins", folder_ / "lib/mgcompare/plugins");
}

void Workplace::use_fake_gpus() {
  const fs::path modules = fs::path(MGCOMPARE_BINARY_DIR) / "lib" / "mgcompare", mine = folder_ / "lib" / "mgcompare";
  fs::create_directories(folder_ / "bin");
  fs::create_directories(mine);
  program_ = folder_ / "bin" / "mgcompare";
  // The program looks for modules beside its own file, so the file is a copy and not a link.
  fs::copy_file(built_program(), program_);
  for (const char* name : {"platform_cpu.so", "plugins"}) fs::create_symlink(modules / name, mine / name);
  fs::create_symlink(modules / "fakes" / "platform_cuda.so", mine / "platform_cuda.so");
}

std::string Workplace::write(const std::string& name, const std::string& text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
  return name;
}

Program Workplace::start(const std::vector<std::string>& arguments, std::map<std::string, std::string> environment) const {
  environment.emplace("MGCOMPARE_PLUGIN_PATH", bad_plugins().string());
  return Program(folder_, program_, arguments, environment);
}

Ended Workplace::run(const std::vector<std::string>& arguments,
                     const std::map<std::string, std::string>& environment) const {
  return start(arguments, environment).wait();
}

Ended Workplace::run_by_shell(const std::string& script, const std::vector<std::string>& arguments) const {
  std::vector<std::string> words = {"-c", script, program_.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return Program(folder_, "/bin/sh", words, {{"MGCOMPARE_PLUGIN_PATH", bad_plugins().string()}}).wait();
}

bool Workplace::has_runs() const { return fs::exists(folder_ / "runs"); }

Run Workplace::only_run() const {
  const std::vector<fs::path> found(fs::directory_iterator(folder_ / "runs"), {});
  if (found.size() != 1) throw std::runtime_error(std::to_string(found.size()) + " runs in place of one");
  return read_run(found[0].string());
}

std::string missing_piece() {
  const fs::path root = MGCOMPARE_BINARY_DIR;
  for (const fs::path& piece : {built_program(), root / "lib/mgcompare/platform_cpu.so", bad_plugins() / "strategy_misbehave.so",
                                root / "lib/mgcompare/plugins/strategy_serial.so"}) {
    if (!fs::exists(piece)) return piece.string() + " is not built";
  }
  return "";
}

bool anything_survives() {
  const auto begin = Clock::now();
  for (;;) {
    const pid_t reaped = waitpid(-1, nullptr, WNOHANG);
    if (reaped < 0) return false;
    if (reaped == 0 && seconds_since(begin) > 10) return true;
    if (reaped == 0) std::this_thread::sleep_for(5ms);
  }
}

std::string small_config(const std::string& rest) {
  return "name: small\n"
         "layers: [flatten, {dense: 16}, tanh, {dense: 10}]\n"
         "data: {set: digits, train_samples: 512, test_samples: 128}\n"
         "epochs: 2\n" +
         rest;
}

const Row& row_of(const Run& run, const std::string& label) {
  for (const Row& row : run.rows) {
    if (row.trial.strategy.label == label) return row;
  }
  throw std::runtime_error("no row of " + label);
}

}  // namespace mgcompare
