// The test program is its own worker, like mgcompare. Started with --worker, it serves requests that misbehave.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "mgcompare/error.h"
#include "process/process.h"
#include "plan/trial.h"
#include "process/worker.h"
#include "results/result.h"

namespace {

using mgcompare::RequestContext;
using mgcompare::Result;
using nlohmann::json;
using namespace std::chrono_literals;

[[noreturn]] void busy() {
  for (std::atomic<unsigned> turns{0};;) ++turns;
}

// A grandchild that outlives its parent, optionally in a session of its own.
json leave_grandchild(const json& body, RequestContext&) {
  int ends[2];
  if (pipe(ends) != 0) throw mgcompare::Error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    if (body.value("session", false)) setsid();
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      std::signal(SIGTERM, SIG_IGN);
      std::signal(SIGHUP, SIG_IGN);
      for (;;) pause();
    }
    if (write(ends[1], &grandchild, sizeof(grandchild)) < 0) _exit(1);
    _exit(0);
  }
  pid_t grandchild = 0;
  if (read(ends[0], &grandchild, sizeof(grandchild)) < 0) throw mgcompare::Error("no grandchild");
  waitpid(child, nullptr, 0);
  return grandchild;
}

json flood(const json& body, RequestContext&) {
  const std::string block(1 << 16, static_cast<char>(body.value("byte", int{'x'})));
  for (int i = 0; i < body.at("megabytes").get<int>() * 16; ++i) std::fwrite(block.data(), 1, block.size(), stdout);
  std::fputs("\n\x1b[31mthe last \x1b]0;title\aline\x1b[0m\n", stdout);
  std::fflush(stdout);
  if (body.value("abort", false)) {
    std::signal(SIGABRT, SIG_DFL);
    std::abort();
  }
  return "flooded";
}

json stubborn(const json&, RequestContext& context) {
  std::signal(SIGTERM, SIG_IGN);
  context.position().set({mgcompare::TrialPhase::training, 2, 17});
  busy();
}

json until_stopped(const json&, RequestContext& context) {
  while (!context.stopping()) std::this_thread::sleep_for(5ms);
  return "stopped";
}

json train(const json& body, RequestContext& context) {
  const std::string behaviour = body.at("trial").get<mgcompare::Trial>().strategy.name;
  context.position().set({mgcompare::TrialPhase::training, 1, 17});
  context.report({mgcompare::TrialPhase::training, 1, 3, 17, 100, 0.5});
  if (behaviour == "crash") {
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
  }
  static int trials = 0;
  if (behaviour == "fragile" && trials > 0) throw mgcompare::Error("something is broken here");
  ++trials;
  if (behaviour == "throw") throw mgcompare::Error("no such layer");
  Result result;
  if (behaviour == "diverge") result.status = mgcompare::TrialStatus::diverged;
  result.samples = static_cast<std::uint64_t>(getpid());
  json answer = result;
  if (behaviour == "litter") answer[mgcompare::kLeftBehind] = "left 2 threads";
  return answer;
}

int misbehave() {
  return mgcompare::serve({
      {"echo", [](const json& body, RequestContext&) { return body; }},
      {"process", [](const json&, RequestContext&) -> json { return getpid(); }},
      {"environment", [](const json& body, RequestContext&) -> json { return std::getenv(body.get<std::string>().c_str()); }},
      {"throw", [](const json&, RequestContext&) -> json { throw mgcompare::Error("the third \x1b[31mlayer is odd"); }},
      {"throw number", [](const json&, RequestContext&) -> json { throw 42; }},
      {"memory", [](const json&, RequestContext&) -> json { throw mgcompare::OutOfMemory(100, 10, 50); }},
      {"memory in a thread", [](const json&, RequestContext&) -> json {
         std::thread([] { throw std::bad_alloc(); }).detach();
         for (;;) pause();
       }},
      {"raise", [](const json& body, RequestContext& context) -> json {
         context.position().set({mgcompare::TrialPhase::training, 1, 17});
         context.report({mgcompare::TrialPhase::training, 1, 3, 17, 100, 0.5});
         std::signal(body.get<int>(), SIG_DFL);   // a sanitizer would catch the signal
         std::raise(body.get<int>());
         return nullptr;
       }},
      {"exit beside a thread", [](const json& body, RequestContext&) -> json {
         struct Used {
           ~Used() { std::abort(); }
         };
         static const Used used;
         std::thread([status = body.get<int>()] { std::exit(status); }).detach();
         for (;;) pause();
       }},
      {"huge", [](const json&, RequestContext&) -> json { return std::string(std::size_t{160} << 20, 'm'); }},
      {"exit", [](const json& body, RequestContext&) -> json { _exit(body.get<int>()); }},
      {"hang", stubborn},
      {"block", [](const json&, RequestContext&) -> json { for (;;) pause(); }},
      {"freeze", [](const json&, RequestContext&) -> json { raise(SIGSTOP); return nullptr; }},
      {"garbage", [](const json&, RequestContext&) -> json {
         if (write(mgcompare::kChannelDescriptor, "\xff\xff\xff\xffxxxxxxxx", 12) < 0) return nullptr;
         for (;;) pause();
       }},
      {"descriptors", [](const json&, RequestContext&) -> json {
         int open = 0;
         for (int i = 4; i < 1024; ++i) open += fcntl(i, F_GETFD) >= 0 ? 1 : 0;
         return open;
       }},
      {"grandchild", leave_grandchild},
      {"flood", flood},
      {"until stopped", until_stopped},
      {"trial", train},
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--worker") return misbehave();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
