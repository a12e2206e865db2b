#include "base/settings.h"

#include <dnnl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <csignal>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

#include "fixture.h"

namespace mgcompare::testing {
namespace {

using ::testing::HasSubstr;

// A plugin that chose a lower instruction set in its constructor made every later row of its worker slower, the baseline, too.
TEST(Settings, OfOneDnnAreFixedOnceTheDevicesAreKnown) {
  platform(DeviceKind::cpu);
  EXPECT_EQ(dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41), dnnl_invalid_arguments);
  EXPECT_NE(dnnl_set_cpu_isa_hints(dnnl_cpu_isa_prefer_ymm), dnnl_success);
}

TEST(Settings, NameWhatChanged) {
  std::thread([] {
    const Settings before = thread_settings();
    EXPECT_EQ(changed_settings(before, thread_settings()), "");
    std::fesetround(FE_UPWARD);
    EXPECT_THAT(changed_settings(before, thread_settings()), HasSubstr("the rounding mode"));
    reset_arithmetic();
    EXPECT_EQ(changed_settings(before, thread_settings()), "");
  }).join();
  const Settings before = process_settings();
  EXPECT_EQ(changed_settings(before, process_settings()), "");
  const mode_t mask = umask(0123);
  EXPECT_EQ(changed_settings(before, process_settings()), "the file mode mask");
  umask(mask);
  const bool had_huge_pages_disabled = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1;
  ASSERT_EQ(prctl(PR_SET_THP_DISABLE, !had_huge_pages_disabled, 0, 0, 0), 0);
  EXPECT_EQ(changed_settings(before, process_settings()), "the memory policy");
  prctl(PR_SET_THP_DISABLE, had_huge_pages_disabled, 0, 0, 0);
  struct sigaction handler {};
  sigaction(SIGRTMIN + 3, nullptr, &handler);
  std::signal(SIGRTMIN + 3, [](int) {});
  EXPECT_EQ(changed_settings(before, process_settings()), "the signal handlers");
  sigaction(SIGRTMIN + 3, &handler, nullptr);
  if (std::ifstream("/proc/self/timers").good()) {
    timer_t timer{};
    sigevent nothing{};
    nothing.sigev_notify = SIGEV_NONE;
    ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &nothing, &timer), 0);
    EXPECT_EQ(changed_settings(before, process_settings()), "the timers");
    timer_delete(timer);
  }
  EXPECT_EQ(changed_settings(before, process_settings()), "");
}

// Empty where the kernel does not tell.
std::string name_space() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/ns/uts", error);
}

struct Change {
  const char* what;
  const char* name;
  // Returns false where the process may not do so, or where the kernel accepts it without effect.
  bool (*make)();
};
void PrintTo(const Change& change, std::ostream* out) { *out << change.what; }

class SettingsOfAProcess : public ::testing::TestWithParam<Change> {};

// In a process of its own, because it cannot be taken back.
TEST_P(SettingsOfAProcess, AreNamed) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = fork();
  if (child == 0) {
    const Settings before = process_settings();
    if (!GetParam().make()) _exit(2);
    const std::string names = changed_settings(before, process_settings());
    _exit(write(pipe[1], names.data(), names.size()) == static_cast<ssize_t>(names.size()) ? 0 : 1);
  }
  close(pipe[1]);
  std::string names(500, '\0');
  names.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(pipe[0], names.data(), names.size()))));
  close(pipe[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  // A filter of system calls may end the process that makes the call.
  if ((WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) || (WIFEXITED(status) && WEXITSTATUS(status) == 2))
    GTEST_SKIP() << "this process may not change it, or has changed it already";
  ASSERT_EQ(status, 0);
  EXPECT_THAT(names, HasSubstr(GetParam().name));
}

constexpr const char* kGroups = "the session, control group or namespaces";
constexpr int kInterleave = 3;

INSTANTIATE_TEST_SUITE_P(
    All, SettingsOfAProcess,
    ::testing::Values(Change{"session", kGroups, [] { return getsid(0) != getpid() && setsid() > 0 && getsid(0) == getpid(); }},
                      Change{"name_space", kGroups,
                             [] {
                               const std::string before = name_space();
                               return unshare(CLONE_NEWUTS) == 0 && name_space() != before;
                             }},
                      Change{"no_new_privileges", "the rights",
                             [] {
                               return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                                      prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
                             }},
                      Change{"personality", "the rights",
                             [] {
                               const int now = personality(0xffffffff);
                               return now != -1 && personality(static_cast<unsigned long>(now ^ ADDR_NO_RANDOMIZE)) != -1 && personality(0xffffffff) != now;
                             }},
                      Change{"timer_slack", "the scheduling",
                             [] {
                               const int now = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
                               return prctl(PR_SET_TIMERSLACK, now + 1000000UL, 0, 0, 0) == 0 && prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) != now;
                             }},
                      Change{"io_priority", "the scheduling",
                             [] {
                               constexpr long kIdle = 3L << 13;
                               const long now = syscall(SYS_ioprio_get, 1, 0);
                               return syscall(SYS_ioprio_set, 1, 0, kIdle) == 0 && syscall(SYS_ioprio_get, 1, 0) != now;
                             }},
                      Change{"handlers", "the handlers of C++", [] { return std::set_terminate([] { _exit(0); }) != nullptr; }},
                      Change{"memory_policy", "the memory policy",
                             [] {
                               unsigned long nodes = 1;
                               int before = 0;
                               int after = 0;
                               return syscall(SYS_get_mempolicy, &before, nullptr, 0, nullptr, 0) == 0 &&
                                      syscall(SYS_set_mempolicy, kInterleave, &nodes, 8 * sizeof nodes) == 0 &&
                                      syscall(SYS_get_mempolicy, &after, nullptr, 0, nullptr, 0) == 0 && after != before;
                             }}),
    [](const auto& info) { return std::string(info.param.what); });

// Modes of the thread that starts the ranks are not those of the ranks.
TEST(Settings, RanksComputeWithTheDefaultArithmetic) {
  const Trial trial = small_trial(2, "data_parallel");
  const std::string expected = run(trial).result.weights_hash;
  std::fesetround(FE_UPWARD);
  const std::string found = run(trial).result.weights_hash;
  reset_arithmetic();
  EXPECT_EQ(found, expected);
}

struct Meddling {
  const char* what;
  const char* says;
};
void PrintTo(const Meddling& meddling, std::ostream* out) { *out << meddling.what; }

class SettingsOfRanks : public ::testing::TestWithParam<Meddling> {};

void expect_found(const Meddling& meddling, bool puts_back, bool is_free = false) {
  Trial trial = small_trial(
      2, "", {{"what", meddling.what, false, {}}, {"puts_back", puts_back ? "true" : "false", false, {}}, {"free", is_free ? "true" : "false", false, {}}});
  trial.strategy.name = trial.strategy.label = "meddler";
  trial.plugin_file = MGCOMPARE_BINARY_DIR "/lib/mgcompare/bad_plugins/strategy_meddler.so";
  // The strategy is also made on the thread that starts the ranks.
  std::thread([&] {
    // Other tests may have bound the thread that this one inherits from to one processor.
    cpu_set_t all;
    std::memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
    const std::string changed = run(trial).result.changed_settings;
    EXPECT_THAT(changed, HasSubstr(meddling.says));
    EXPECT_EQ(changed.empty(), std::string(meddling.says).empty());
  }).join();
}

TEST_P(SettingsOfRanks, AreComparedAtTheEnd) { expect_found(GetParam(), false); }

// Without these rights the priority cannot be put back.
bool may_put_back(const Meddling& meddling) { return std::string(meddling.what) != "priority" || geteuid() == 0; }

TEST_P(SettingsOfRanks, AreComparedBeforeTheModelIsAskedFor) {
  if (!may_put_back(GetParam())) GTEST_SKIP() << "needs the rights of root";
  expect_found(GetParam(), true);
}

TEST_P(SettingsOfRanks, AreComparedBeforeFreeRanksRest) {
  if (!may_put_back(GetParam())) GTEST_SKIP() << "needs the rights of root";
  expect_found(GetParam(), true, true);
}

INSTANTIATE_TEST_SUITE_P(All, SettingsOfRanks,
                         ::testing::Values(Meddling{"nothing", ""}, Meddling{"rounding", "the rounding mode"},
                                           Meddling{"processors", "the processors that it may run on"}, Meddling{"priority", "the priority"},
                                           Meddling{"signals", "the blocked signals"}),
                         [](const auto& info) { return std::string(info.param.what); });

}  // namespace
}  // namespace mgcompare::testing
