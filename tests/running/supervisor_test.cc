#include "process/supervisor.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace mgcompare {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

bool is_alive(pid_t id) { return kill(id, 0) == 0; }

SupervisorSettings quick() {
  SupervisorSettings settings;
  settings.seconds_grace = 0.3;
  return settings;
}

pid_t process_of(Supervisor& supervisor) { return supervisor.ask("process", nullptr, 5).body.get<pid_t>(); }

Trial trial_of(const std::string& behaviour) {
  Trial trial;
  trial.global_batch = 64;
  trial.strategy.name = trial.strategy.label = behaviour;
  LayerConfig layer;
  layer.type = LayerType::dense;
  layer.name = "dense1";
  layer.channels = 10;
  trial.config.name = trial.config.model.name = "test";
  trial.config.model.layers = {layer};
  trial.config.strategies = {trial.strategy};
  return trial;
}

TEST(Supervisor, OneWorkerAnswersManyRequests) {
  Supervisor supervisor(quick());
  EXPECT_EQ(supervisor.ask("echo", {{"a", 1}}, 5).body, nlohmann::json({{"a", 1}}));
  const pid_t first = process_of(supervisor);
  EXPECT_EQ(process_of(supervisor), first);
  EXPECT_NE(first, getpid());
}

TEST(Supervisor, BigMessagesPassBothWays) {
  Supervisor supervisor(quick());
  const std::string text(3 << 20, 'y');
  EXPECT_EQ(supervisor.ask("echo", text, 10).body, text);
}

TEST(Supervisor, AThrowIsACauseAndAFreshWorkerFollows) {
  Supervisor supervisor(quick());
  const pid_t first = process_of(supervisor);
  const Reply reply = supervisor.ask("throw", nullptr, 5);
  EXPECT_EQ(reply.status, TrialStatus::failed);
  EXPECT_EQ(reply.cause, "the third layer is odd");
  EXPECT_FALSE(is_alive(first));
  EXPECT_NE(process_of(supervisor), first);
  EXPECT_EQ(supervisor.ask("throw number", nullptr, 5).status, TrialStatus::failed);
  EXPECT_EQ(supervisor.ask("memory", nullptr, 5).status, TrialStatus::out_of_memory);
  const Reply in_thread = supervisor.ask("memory in a thread", nullptr, 5);
  EXPECT_EQ(in_thread.status, TrialStatus::out_of_memory);
  EXPECT_THAT(in_thread.cause, testing::MatchesRegex("the host gave no more memory, free .+, total .+, in a thread or destructor of a "
                                                     "plugin before the trial began"));
}

class DeathBy : public testing::TestWithParam<std::pair<int, const char*>> {};

// Must be immediate: a supervisor that waited for the limit would report a timeout.
TEST_P(DeathBy, SignalIsNamedWithItsPlaceAtOnce) {
  // No limit ends the request, so what ends it is the end of the worker.
  SupervisorSettings settings = quick();
  settings.seconds_without_progress = settings.seconds_without_heartbeat = 1e6;
  Supervisor supervisor(settings);
  const pid_t worker = process_of(supervisor);
  const Reply reply = supervisor.ask("raise", GetParam().first, 1e6);
  EXPECT_EQ(reply.status, TrialStatus::crashed);
  EXPECT_FALSE(is_alive(worker));
  EXPECT_EQ(reply.cause, std::string(GetParam().second) + " in step 17 of epoch 2 (training)");
  EXPECT_EQ(supervisor.ask("echo", 1, 5).status, TrialStatus::done);
}

INSTANTIATE_TEST_SUITE_P(Signals, DeathBy,
                         testing::Values(std::pair{SIGSEGV, "SIGSEGV"}, std::pair{SIGABRT, "SIGABRT"},
                                         std::pair{SIGFPE, "SIGFPE"}, std::pair{SIGKILL, "SIGKILL"}));

TEST(Supervisor, AnEarlyExitIsACrashEvenWithCodeZero) {
  Supervisor supervisor(quick());
  const Reply reply = supervisor.ask("exit", 0, 5);
  EXPECT_EQ(reply.status, TrialStatus::crashed);
  EXPECT_EQ(reply.cause, "the worker ended by itself (exit code 0) before the trial began");
}

// Static objects are not destroyed while other threads use them.
TEST(Supervisor, AnExitOfAThreadIsToldAsSuch) {
  Supervisor supervisor(quick());
  const Reply reply = supervisor.ask("exit beside a thread", 7, 5);
  EXPECT_EQ(reply.status, TrialStatus::crashed);
  EXPECT_EQ(reply.cause, "the worker ended by itself (exit code 7) before the trial began");
}

TEST(Supervisor, AnAnswerOverTheLimitIsAFailureWithBothSizes) {
  Supervisor supervisor(quick());
  const Reply reply = supervisor.ask("huge", nullptr, 20);
  EXPECT_EQ(reply.status, TrialStatus::failed) << reply.cause;
  EXPECT_EQ(reply.cause, "the worker has a message of 167772162 bytes, over the limit of 134217728 (texts, metrics or settings of the plugin are too large)");
  EXPECT_EQ(supervisor.ask("echo", 1, 5).status, TrialStatus::done);
}

TEST(Supervisor, AWorkerThatDiedIdleIsNoFaultOfTheNextRequest) {
  Supervisor supervisor(quick());
  const pid_t first = process_of(supervisor);
  kill(first, SIGKILL);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(supervisor.ask("echo", 1, 5).status, TrialStatus::done);
}

TEST(Supervisor, ABusyLoopThatIgnoresTermIsKilledAfterLimitAndGrace) {
  Supervisor supervisor(quick());
  const pid_t worker = process_of(supervisor);
  const auto begin = Clock::now();
  const Reply reply = supervisor.ask("hang", nullptr, 0.5);
  EXPECT_EQ(reply.status, TrialStatus::timeout);
  EXPECT_EQ(reply.cause, "over the limit of 0.5 s in step 17 of epoch 3 (training)");
  EXPECT_GE(seconds_since(begin), 0.8);
  EXPECT_FALSE(is_alive(worker));
}

TEST(Supervisor, NoProgressAndSilenceAreTimeouts) {
  SupervisorSettings settings = quick();
  settings.seconds_without_progress = 0.4;
  EXPECT_EQ(Supervisor(settings).ask("block", nullptr, 20).cause, "no progress for 0.4 s before the trial began");
  settings = quick();
  settings.seconds_without_heartbeat = 1.5;
  EXPECT_EQ(Supervisor(settings).ask("freeze", nullptr, 20).cause,
            "the worker was silent for 1.5 s before the trial began");
  // A heartbeat each second keeps a long request alive if only silence is limited.
  EXPECT_EQ(Supervisor(settings).ask("block", nullptr, 2.5).cause, "over the limit of 2.5 s before the trial began");
}

TEST(Supervisor, GarbageOnTheChannelEndsThatWorkerOnly) {
  Supervisor supervisor(quick());
  const Reply reply = supervisor.ask("garbage", nullptr, 5);
  EXPECT_EQ(reply.status, TrialStatus::crashed);
  EXPECT_NE(reply.cause.find("over the limit"), std::string::npos) << reply.cause;
  EXPECT_EQ(supervisor.ask("echo", 1, 5).status, TrialStatus::done);
}

TEST(Supervisor, WorkersInheritNothingButTheirChannel) {
  const int secret = dup(0);
  ASSERT_GE(secret, 0);
  Supervisor supervisor(quick());
  EXPECT_EQ(supervisor.ask("descriptors", nullptr, 5).body, 0);
  close(secret);
  EXPECT_EQ(supervisor.ask("environment", "OMP_NUM_THREADS", 5).body, "1");
  EXPECT_EQ(supervisor.ask("environment", "OMP_WAIT_POLICY", 5).body, "PASSIVE");
}

TEST(Supervisor, NoGrandchildSurvives) {
  for (const bool session : {false, true}) {
    Supervisor supervisor(quick());
    const pid_t grandchild = supervisor.ask("grandchild", {{"session", session}}, 5).body.get<pid_t>();
    EXPECT_TRUE(is_alive(grandchild));
    supervisor.end_worker();
    EXPECT_FALSE(is_alive(grandchild));
  }
}

TEST(Supervisor, AFloodOfOutputIsCappedAndCleaned) {
  const std::string file = testing::TempDir() + "flood.log";
  std::filesystem::remove(file);
  SupervisorSettings settings = quick();
  settings.log_file = file;
  {
    Supervisor supervisor(settings);
    EXPECT_EQ(supervisor.ask("flood", {{"megabytes", 50}}, 30).body, "flooded");
    const Reply reply = supervisor.ask("flood", {{"megabytes", 1}, {"abort", true}}, 30);
    EXPECT_EQ(reply.cause, "SIGABRT before the trial began");
  }
  EXPECT_LT(std::filesystem::file_size(file), std::size_t{11} << 20);
  std::ifstream stream(file);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  EXPECT_NE(text.find("bytes left out]"), std::string::npos);
}

// Binary output without line ends, as plugins may print.
TEST(LongSupervisor, AGigabyteOfOutputTakesNoMemory) {
  const auto resident_bytes = [] {
    long size = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> size >> resident;
    return resident * sysconf(_SC_PAGESIZE);
  };
  SupervisorSettings settings = quick();
  settings.log_file = testing::TempDir() + "gigabyte.log";
  std::filesystem::remove(settings.log_file);
  const long before = resident_bytes();
  Supervisor supervisor(settings);
  EXPECT_EQ(supervisor.ask("flood", {{"megabytes", 1024}, {"byte", 0xff}}, 600).body, "flooded");
  EXPECT_LT(resident_bytes() - before, 50 << 20);
  EXPECT_LT(std::filesystem::file_size(settings.log_file), std::size_t{11} << 20);
}

TEST(Supervisor, AnInterruptionLetsTheRequestEndByItself) {
  std::atomic<bool> interrupted{false};
  SupervisorSettings settings = quick();
  settings.interrupted = [&] { return interrupted.load(); };
  Supervisor supervisor(settings);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    interrupted = true;
  });
  const Reply reply = supervisor.ask("until stopped", nullptr, 20);
  later.join();
  EXPECT_EQ(reply.status, TrialStatus::done);
  EXPECT_EQ(reply.body, "stopped");
}

// The request's own limit, after which the status would be "timeout", is far away.
TEST(Supervisor, AnInterruptionKillsWhatDoesNotListenWithinItsTime) {
  SupervisorSettings settings = quick();
  settings.interrupted = [] { return true; };
  settings.seconds_to_stop = 0.3;
  Supervisor supervisor(settings);
  EXPECT_EQ(supervisor.ask("hang", nullptr, 60).status, TrialStatus::interrupted);
}

TEST(Supervisor, TrialsShareAWorkerUntilOneFails) {
  Supervisor supervisor(quick());
  std::size_t reports = 0;
  const auto run = [&](const char* behaviour) {
    return supervisor.run(trial_of(behaviour), {}, [&](const Progress& progress) {
      ++reports;
      EXPECT_EQ(progress.step, 17u);
    });
  };
  const Result first = run("fine"), second = run("fine");
  EXPECT_EQ(first.status, TrialStatus::done);
  EXPECT_EQ(second.samples, first.samples) << "the same process";
  EXPECT_GT(first.seconds_worker_start, 0);
  EXPECT_EQ(second.seconds_worker_start, 0);
  // Its ranks were aborted during exchanges. Their work on the device ends with the process.
  const Result diverged = run("diverge"), third = run("fine");
  EXPECT_EQ(diverged.status, TrialStatus::diverged);
  EXPECT_TRUE(diverged.log.empty()) << "an outcome, not a failure";
  EXPECT_NE(third.samples, first.samples) << "another process";
  EXPECT_GT(third.seconds_worker_start, 0);
  const Result crashed = run("crash");
  EXPECT_EQ(crashed.status, TrialStatus::crashed);
  EXPECT_EQ(crashed.cause, "SIGSEGV in step 17 of epoch 2 (training)");
  EXPECT_NE(run("fine").samples, third.samples);
  EXPECT_EQ(run("throw").cause, "no such layer");
  EXPECT_GE(reports, 6u);
}

TEST(Supervisor, IsolationGivesEachTrialAProcess) {
  Supervisor supervisor(quick());
  Trial trial = trial_of("fine");
  trial.config.isolation = Isolation::trial;
  EXPECT_NE(supervisor.run(trial, {}, {}).samples, supervisor.run(trial, {}, {}).samples);
}

TEST(Supervisor, AHundredWorkersLeaveNothingBehind) {
  const auto descriptors = [] {
    const std::filesystem::directory_iterator open("/proc/self/fd");
    return std::distance(begin(open), end(open));
  };
  const auto before = descriptors();
  {
    Supervisor supervisor(quick());
    for (int i = 0; i < 100; ++i) EXPECT_EQ(supervisor.ask("exit", 3, 5).status, TrialStatus::crashed);
  }
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(Supervisor, AWorkerThatWasLitteredIsReplacedAndThePluginNamed) {
  Supervisor supervisor(quick());
  const Result litter = supervisor.run(trial_of("litter"), {}, {}), next = supervisor.run(trial_of("fine"), {}, {});
  EXPECT_EQ(litter.status, TrialStatus::done);
  EXPECT_EQ(litter.notes, std::vector<std::string>{"the plugin of litter left 2 threads in the worker, which was replaced"});
  EXPECT_NE(next.samples, litter.samples) << "the same process";
  EXPECT_TRUE(next.notes.empty());
  EXPECT_EQ(supervisor.take_warnings(),
            std::vector<std::string>{row_name(trial_of("litter")) + ": the plugin of litter left 2 threads in the worker, which was replaced"});
  EXPECT_TRUE(supervisor.take_warnings().empty());
}

Trial trial_of_plugin(const std::string& behaviour) {
  Trial trial = trial_of(behaviour);
  trial.plugin_file = "/" + behaviour + ".so";
  return trial;
}

TEST(Supervisor, ATrialThatFailsInAUsedWorkerIsRepeatedOnceInAFreshOne) {
  Supervisor supervisor(quick());
  const auto run = [&](const char* behaviour) { return supervisor.run(trial_of_plugin(behaviour), {}, {}); };
  run("fine");
  const Result repeated = run("fragile");
  EXPECT_EQ(repeated.status, TrialStatus::done);
  EXPECT_EQ(repeated.notes, std::vector<std::string>{"failed in a worker used by fine (failed: something is broken here); repeated in a fresh one"});
  // The worker ran only this plugin since, so its own failure is its own.
  const Result own = run("fragile");
  EXPECT_EQ(own.status, TrialStatus::failed);
  EXPECT_TRUE(own.notes.empty());
  run("fine");
  const Result twice = run("throw");
  EXPECT_EQ(twice.status, TrialStatus::failed);
  EXPECT_EQ(twice.cause, "no such layer");
  EXPECT_EQ(twice.notes.size(), 1u);
  run("fine");
  EXPECT_TRUE(run("diverge").notes.empty()) << "a result, not a failure";
}

TEST(Supervisor, AKillByTheKernelForMemoryIsToldAsLikely) {
  SupervisorSettings settings = quick();
  settings.kernel_counters = testing::TempDir() + "vmstat";
  const auto count = [&](int kills) { std::ofstream(settings.kernel_counters) << "nr_free_pages 1\noom_kill " << kills << "\n"; };
  count(4);
  Supervisor supervisor(settings);
  const Reply killed = supervisor.ask("raise", SIGKILL, 20, {[&](const Progress&) { count(5); }, {}});
  EXPECT_EQ(killed.status, TrialStatus::out_of_memory);
  EXPECT_EQ(killed.cause, "probably the kernel ended the worker for lack of memory (SIGKILL in step 17 of epoch 2 (training))");
  const Reply crashed = supervisor.ask("raise", SIGSEGV, 20, {[&](const Progress&) { count(6); }, {}});
  EXPECT_EQ(crashed.status, TrialStatus::crashed);
  // The counter grew before this worker started.
  EXPECT_EQ(supervisor.ask("raise", SIGKILL, 20).status, TrialStatus::crashed);
}

// If the runner is killed, its worker and the worker's children must end too, also those with a session of their own.
class WorkersOfAKilledRunner : public testing::TestWithParam<bool> {};

TEST_P(WorkersOfAKilledRunner, DieWithIt) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  adopt_orphans();
  const pid_t runner = fork();
  if (runner == 0) {
    Supervisor supervisor(quick());
    const pid_t found[2] = {process_of(supervisor),
                            supervisor.ask("grandchild", {{"session", GetParam()}}, 5).body.get<pid_t>()};
    if (write(ends[1], found, sizeof(found)) < 0) _exit(1);
    supervisor.ask("hang", nullptr, 60);
    _exit(0);
  }
  pid_t found[2] = {0, 0};
  ASSERT_EQ(read(ends[0], found, sizeof(found)), static_cast<ssize_t>(sizeof(found)));
  ASSERT_TRUE(is_alive(found[0]));
  ASSERT_TRUE(is_alive(found[1]));
  kill(runner, SIGKILL);
  waitpid(runner, nullptr, 0);
  // This process adopted the guardian, which ends last.
  const auto begin = Clock::now();
  while (seconds_since(begin) < 30 && waitpid(-1, nullptr, WNOHANG) >= 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_LT(seconds_since(begin), 1);
  EXPECT_FALSE(is_alive(found[0]));
  EXPECT_FALSE(is_alive(found[1]));
  close(ends[0]);
  close(ends[1]);
}

INSTANTIATE_TEST_SUITE_P(Sessions, WorkersOfAKilledRunner, testing::Bool());

}  // namespace
}  // namespace mgcompare
