// Trains correctly until the step (or the call) in which it commits the fault that `how` names.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <thread>

#include "mgcompare/strategy.h"

namespace {

using namespace mgcompare;

// Makes the file that MGCOMPARE_TEST_SPINNING names.
[[noreturn]] void spin() {
  std::signal(SIGTERM, SIG_IGN);
  if (const char* const file = std::getenv("MGCOMPARE_TEST_SPINNING")) std::ofstream(file).flush();
  for (std::atomic<unsigned> turns{0};;) ++turns;
}

// A process that outlives its parent and ignores signals. Its id goes to the file that MGCOMPARE_TEST_GRANDCHILD names.
void leave_grandchild() {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    const pid_t grandchild = fork();
    if (grandchild != 0) {
      if (const char* name = std::getenv("MGCOMPARE_TEST_GRANDCHILD"); name != nullptr) {
        const int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
        dprintf(file, "%d\n", grandchild);
      }
      _exit(0);
    }
    std::signal(SIGTERM, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
    for (;;) pause();
  }
  waitpid(child, nullptr, 0);
}

// Stops the process for more than two seconds.
void stand_still() {
  const pid_t stopped = getpid(), child = fork();
  if (child == 0) {
    usleep(2'300'000);
    kill(stopped, SIGCONT);
    _exit(0);
  }
  kill(stopped, SIGSTOP);
  waitpid(child, nullptr, 0);
}

void die_of(int number) {
  std::signal(number, SIG_DFL);     // a sanitizer would catch the signal
  std::raise(number);
}

// Destroyed by exit(), while other threads may use it.
struct Used {
  ~Used() { die_of(SIGSEGV); }
};

[[noreturn]] void leave(int status) {
  static const Used used;
  std::puts("the last line before the exit");
  std::exit(status);
}

// A thread that ends the process some time after the trial.
void leave_thread() {
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    die_of(SIGSEGV);
  }).detach();
}

void leave_descriptors() {
  for (int i = 0; i < 3; ++i)
    if (open("/dev/null", O_RDONLY) < 0) throw Error("no descriptor");
}

// Their number stays the same.
void redirect_streams() {
  const int other = open("/dev/null", O_WRONLY);
  if (other < 0 || dup2(other, STDOUT_FILENO) < 0 || dup2(other, STDERR_FILENO) < 0) throw Error("no descriptor");
  close(other);
}

// Allocates until that fails. The limit counts memory that is not used, too, and to use all of it takes long on some machines.
[[noreturn]] void hog() {
  for (;;) {
    char* const block = new (std::nothrow) char[64 << 20];
    if (block == nullptr) throw std::bad_alloc();
    *block = 1;
  }
}

void forbid_files() {
  const rlimit limit = {0, 0};
  setrlimit(RLIMIT_FSIZE, &limit);
}

void flood() {
  const std::string block(1 << 16, 'x');
  for (int i = 0; i < 50 * 16; ++i) std::fwrite(block.data(), 1, block.size(), stderr);
  std::fputs("\n\x1b[31mthe end of the flood\x1b[0m\n", stderr);
}

// MGCOMPARE_TEST_HOST names a host: then only the worker there of a job over several hosts goes wrong.
bool is_spared() {
  const char* const host = std::getenv("MGCOMPARE_TEST_HOST");
  if (host == nullptr) return false;
  char name[256] = "", line[4096] = "";
  gethostname(name, sizeof name - 1);
  const int file = open("/proc/self/cmdline", O_RDONLY);
  const ssize_t size = read(file, line, sizeof line);
  close(file);
  const bool is_worker = std::string(line, size < 0 ? 0 : static_cast<std::size_t>(size)).find("--host-worker") != std::string::npos;
  return !is_worker || std::strcmp(name, host) != 0;
}

class Misbehave : public Strategy {
 public:
  Misbehave(Options& options, const Facts& facts)
      : how_(options.choice("how", "never", "what goes wrong",
                            {"never", "throw", "throw number", "throw long", "long metric", "segv", "abort", "fpe", "exit", "normal exit", "quick exit",
                             "busy", "blocked", "grandchild", "grandchild and hang", "flood", "out of memory", "hog", "no files", "strand", "thread",
                             "descriptors", "close descriptors", "streams", "pause"})),
        where_(options.choice("where", "step", "the call in which it does", {"construct", "start", "step", "settle", "teardown"})),
        step_(options.integer("step", 3, "the step of the first epoch in which it does", 0)),
        rank_(options.integer("rank", facts.ranks - 1, "the rank that does", 0)) {
    if (where_ == "construct") do_it();
  }

  // At the end of a training, and not of a probe or a warm-up.
  ~Misbehave() override {
    if (where_ == "teardown" && is_trained_) do_it();
  }

  Traits traits() const override { return {}; }

  void start(Replica&, Group& group) override {
    if (where_ == "start" && group.rank() == rank_) do_it();
  }

  void step(Replica& replica, Group& group, const Batch& batch) override {
    if (how_ == "long metric") replica.metric(std::string(std::size_t{20} << 20, 'm'), 1);
    if (where_ == "step" && batch.epoch() == 0 && batch.step() == static_cast<std::size_t>(step_)) {
      if (group.rank() == rank_) do_it();
      while (how_ == "strand") pause();  // like a kernel that waits for the failed rank and cannot be aborted
    }
    replica.backward(batch);
    group.all_reduce(replica.gradients());
    replica.update();
  }

  Vec settle(Replica& replica, Group& group) override {
    if (where_ == "settle" && group.rank() == rank_) do_it();
    is_trained_ = group.rank() == rank_;
    return replica.weights();
  }

 private:
  void do_it() const {
    // Lets the same config run again without the fault.
    if (std::getenv("MGCOMPARE_TEST_CALM") != nullptr || is_spared()) return;
    if (how_ == "throw" || how_ == "strand") throw Error("the planted error");
    if (how_ == "throw number") throw 42;
    if (how_ == "throw long") throw Error("the planted error " + std::string(std::size_t{50} << 20, 'x'));
    if (how_ == "segv") die_of(SIGSEGV);
    if (how_ == "abort") die_of(SIGABRT);
    if (how_ == "fpe") die_of(SIGFPE);
    if (how_ == "exit") _exit(0);
    if (how_ == "normal exit") leave(0);
    if (how_ == "quick exit") std::quick_exit(3);
    if (how_ == "close descriptors") close_range(STDERR_FILENO + 1, ~0U, 0);
    if (how_ == "busy") spin();
    if (how_.starts_with("grandchild")) leave_grandchild();
    if (how_ == "flood") flood();
    if (how_ == "hog") hog();
    if (how_ == "no files") forbid_files();
    if (how_ == "thread") leave_thread();
    if (how_ == "descriptors") leave_descriptors();
    if (how_ == "streams") redirect_streams();
    if (how_ == "pause") stand_still();
    if (how_ == "out of memory") throw OutOfMemory(1000, 10, 100);
    while (how_ == "blocked" || how_ == "grandchild and hang") pause();
  }

  std::string how_, where_;
  std::int64_t step_, rank_;
  bool is_trained_ = false;
};

}  // namespace

MGCOMPARE_STRATEGY(Misbehave, "misbehave", "wrong on purpose: throws, crashes, hangs, forks, floods or leaks when told to")
