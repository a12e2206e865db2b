// Faults of a strategy, a user or an administrator during a run.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

class Faults : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = missing_piece(); !missing.empty()) GTEST_SKIP() << missing;
  }
  Workplace place_;
};

std::string misbehaving(const std::string& options, double limit_seconds = 60, const std::string& devices = "cpu:1") {
  return small_config("scaling: {devices: [" + devices + "], batch: 64}\n" +
                      "measure: {time_limit: " + std::to_string(limit_seconds) + "}\n" +
                      "strategies: [serial, {misbehave: {" + options + "}}, replicated]\n");
}

struct Fault {
  std::string how, where, status, cause;
  double limit_seconds = 60;
  std::string devices = "cpu:1";
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.how << " in " << fault.where; }

class BadStrategy : public Faults, public testing::WithParamInterface<Fault> {};

TEST_P(BadStrategy, IsARowAndTheOthersRun) {
  if (IsSkipped()) return;
  const Fault& fault = GetParam();
  const std::string config = place_.write(
      "bad.yaml", misbehaving("how: " + fault.how + ", where: " + fault.where, fault.limit_seconds, fault.devices));
  const Ended ended = place_.run({config});
  EXPECT_EQ(ended.code, 3) << ended.err;
  const auto run = place_.only_run();
  int faulty = 0, done = 0;
  for (const Row& row : run.rows) {
    EXPECT_EQ(row.state, RowState::finished);
    if (row.trial.strategy.name == "misbehave") {
      ++faulty;
      EXPECT_EQ(to_string(row.result.status), fault.status) << row.result.cause;
      EXPECT_NE(row.result.cause.find(fault.cause), std::string::npos) << row.result.cause;
    } else {
      ++done;
      EXPECT_EQ(row.result.status, TrialStatus::done) << row.result.cause;
    }
  }
  const int device_counts = fault.devices == "cpu:1" ? 1 : 2;
  EXPECT_EQ(faulty, device_counts);
  EXPECT_EQ(done, 2 + device_counts) << "serial and its control run on one device only";
  EXPECT_TRUE(fs::exists(run.directory + "/report.md"));
  EXPECT_FALSE(anything_survives());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, BadStrategy,
    testing::Values(Fault{"throw", "start", "failed", "the planted error"},
                    Fault{"throw", "step", "failed", "the planted error", 60, "cpu:1, cpu:2"},
                    Fault{"strand", "step", "failed", "the planted error", 60, "cpu:1, cpu:2"},
                    Fault{"throw number", "settle", "failed", "not an exception"},
                    Fault{"out of memory", "step", "out of memory", "asked 1000"},
                    Fault{"segv", "start", "crashed", "SIGSEGV"}, Fault{"segv", "step", "crashed", "SIGSEGV", 60, "cpu:1, cpu:2"},
                    Fault{"abort", "settle", "crashed", "SIGABRT"},
                    Fault{"exit", "step", "crashed", "ended by itself (exit code 0)"},
                    Fault{"busy", "step", "timeout", "over the limit of 3 s", 3},
                    Fault{"blocked", "start", "timeout", "over the limit of 3 s", 3}),
    [](const auto& info) {
      std::string name = info.param.how + "_in_" + info.param.where;
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    });

// All strategies but serial, which has one rank and no exchange.
std::vector<std::string> exchanging_strategies() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(MGCOMPARE_BINARY_DIR) / "lib/mgcompare/plugins")) {
    const std::string name = entry.path().stem().string().substr(std::string("strategy_").size());
    if (name != "serial") names.push_back(name);
  }
  return names;
}

// One rank crashes the process in the middle of an exchange, for every strategy.
TEST_F(Faults, ARankThatDiesInAnExchangeIsARowForEveryStrategy) {
  const std::vector<std::string> names = exchanging_strategies();
  std::string strategies;
  for (std::size_t i = 0; i < names.size(); ++i)
    strategies += "  - saboteur: {inner: " + names[i] + ", how: " + (i % 2 == 0 ? "segv" : "exit") + ", as: " + names[i] + "}\n";
  const Ended ended = place_.run({place_.write(
      "dying.yaml", small_config("scaling: {devices: [cpu:2], batch: 64}\nstrategies:\n" + strategies))});
  EXPECT_EQ(ended.code, 3) << ended.err;
  const auto run = place_.only_run();
  ASSERT_EQ(run.rows.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Row& row = row_of(run, names[i]);
    EXPECT_EQ(row.state, RowState::finished) << names[i];
    EXPECT_EQ(row.result.status, TrialStatus::crashed) << names[i] << ": " << row.result.cause;
    EXPECT_NE(row.result.cause.find(i % 2 == 0 ? "SIGSEGV" : "ended by itself"), std::string::npos) << row.result.cause;
  }
  EXPECT_TRUE(fs::exists(run.directory + "/report.md"));
  EXPECT_FALSE(anything_survives());
}

// The other ranks wait for ever; the trial must still end.
TEST_F(Faults, ARankThatHangsInAnExchangeIsARowWithinTheLimitForEveryStrategy) {
  const std::vector<std::string> names = exchanging_strategies();
  std::string strategies;
  for (const std::string& name : names) strategies += "  - saboteur: {inner: " + name + ", how: hang, as: " + name + "}\n";
  const Ended ended = place_.run({place_.write(
      "hanging.yaml", small_config("scaling: {devices: [cpu:2], batch: 64}\nmeasure: {time_limit: 2}\nstrategies:\n" + strategies))});
  EXPECT_EQ(ended.code, 3) << ended.err;
  const auto run = place_.only_run();
  ASSERT_EQ(run.rows.size(), names.size());
  for (const std::string& name : names) {
    EXPECT_EQ(row_of(run, name).result.status, TrialStatus::timeout) << name << ": " << row_of(run, name).result.cause;
    EXPECT_NE(row_of(run, name).result.cause.find("over the limit of 2 s"), std::string::npos) << row_of(run, name).result.cause;
  }
  EXPECT_FALSE(anything_survives());
}

TEST_F(Faults, AGrandchildInItsOwnSessionDoesNotSurvive) {
  const std::string file = (place_.folder() / "grandchild").string();
  const Ended ended =
      place_.run({place_.write("bad.yaml", misbehaving("how: grandchild"))}, {{"MGCOMPARE_TEST_GRANDCHILD", file}});
  EXPECT_EQ(ended.code, 0) << ended.err;
  pid_t grandchild = 0;
  std::ifstream(file) >> grandchild;
  ASSERT_GT(grandchild, 0);
  EXPECT_FALSE(anything_survives());
  EXPECT_NE(kill(grandchild, 0), 0);
}

TEST_F(Faults, AFloodOfOutputIsALogOfBoundedSize) {
  const Ended ended = place_.run({place_.write("bad.yaml", misbehaving("how: flood"))});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_LT(ended.err.size(), 10000u);
  EXPECT_LT(fs::file_size(place_.only_run().directory + "/worker.log"), std::size_t{11} << 20);
}

TEST_F(Faults, ADivergedTrialIsARow) {
  const Ended ended = place_.run({place_.write("bad.yaml", 
      "layers: [flatten, {dense: 32}, relu, {dense: 32}, relu, {dense: 10}]\n"
      "data: {set: digits, train_samples: 512, test_samples: 128}\n"
      "optimizer: {learning_rate: 1000000}\nepochs: 3\n"
      "scaling: {devices: [cpu:1], batch: 64}\nstrategies: [serial]\n")});
  EXPECT_EQ(ended.code, 3) << ended.err;
  const auto run = place_.only_run();
  EXPECT_EQ(run.rows[0].result.status, TrialStatus::diverged);
  EXPECT_NE(run.rows[0].result.cause.find("step"), std::string::npos) << run.rows[0].result.cause;
}

// Trains for hours unless it is stopped.
std::string endless() {
  return small_config("scaling: {devices: [cpu:1], batch: 64}\nstrategies: [serial, replicated]\n") ;
}

class Interrupted : public Faults, public testing::WithParamInterface<std::pair<int, int>> {};

TEST_P(Interrupted, StopsAfterItsStepWithAPartialReport) {
  if (IsSkipped()) return;
  Program program = place_.start({place_.write("long.yaml", endless()), "--set", "epochs=100000"});
  ASSERT_TRUE(program.says("3 trials", 30));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  program.signal(GetParam().first);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.code, GetParam().second) << ended.err;
  const auto run = place_.only_run();
  EXPECT_TRUE(fs::exists(run.directory + "/report.md"));
  EXPECT_EQ(run.rows[0].result.status, TrialStatus::interrupted) << run.rows[0].result.cause;
  EXPECT_EQ(run.rows[0].result.cause.find("did not stop by itself"), std::string::npos) << run.rows[0].result.cause;
  EXPECT_NE(run.rows[1].state, RowState::finished);
  EXPECT_FALSE(anything_survives());
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupted,
                         testing::Values(std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}, std::pair{SIGHUP, 143}));

// The program ends at once. It does not wait for the trial and writes no partial report.
TEST_F(Faults, ASecondInterruptionEndsAtOnce) {
  const std::string config = place_.write("hang.yaml", misbehaving("how: busy, where: start"));
  Program program = place_.start({config, "--only", "strategy=misbehave"});
  ASSERT_TRUE(program.says("1 trial:", 30));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  program.signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  program.signal(SIGINT);
  EXPECT_EQ(program.wait().code, 130);
  const auto run = place_.only_run();
  EXPECT_FALSE(fs::exists(run.directory + "/report.md"));
  EXPECT_NE(run.rows[0].state, RowState::finished);
  EXPECT_FALSE(anything_survives());
}

TEST_F(Faults, AHangingTrialDoesNotHoldUpAnInterruption) {
  const std::string config = place_.write("hang.yaml", misbehaving("how: busy, where: step"));
  Program program = place_.start({config, "--only", "strategy=misbehave"});
  ASSERT_TRUE(program.says("1 trial:", 30));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  program.signal(SIGINT);
  EXPECT_EQ(program.wait().code, 130);
  const Result result = place_.only_run().rows[0].result;
  EXPECT_EQ(result.status, TrialStatus::interrupted);
  EXPECT_NE(result.cause.find("did not stop by itself"), std::string::npos) << result.cause;
}

TEST_F(Faults, AKilledRunLosesNothingAndIsResumed) {
  const std::string config = place_.write("hang.yaml", misbehaving("how: blocked, where: step"));
  Program program = place_.start({config});
  // One of four trials hangs. The results must hold everything that was stored before.
  ASSERT_TRUE(program.says("4 trials", 30));
  std::this_thread::sleep_for(std::chrono::milliseconds(3000));
  program.signal(SIGKILL);
  EXPECT_EQ(program.wait().code, -SIGKILL);
  EXPECT_FALSE(anything_survives()) << "a worker outlived its runner";
  const auto before = place_.only_run();
  EXPECT_NE(row_of(before, "misbehave").state, RowState::finished);

  const Ended resumed = place_.run({config, "--resume"}, {{"MGCOMPARE_TEST_CALM", "1"}});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  const auto after = place_.only_run();
  ASSERT_EQ(after.rows.size(), 4u) << "the last is the control";
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(after.rows[i].result.status, TrialStatus::done);
    if (before.rows[i].state == RowState::finished) {
      EXPECT_EQ(after.rows[i].attempt, before.rows[i].attempt) << "run twice";
      EXPECT_EQ(after.rows[i].result.weights_hash, before.rows[i].result.weights_hash);
      EXPECT_EQ(after.rows[i].sequence, before.rows[i].sequence);
    }
  }
  EXPECT_EQ(row_of(after, "misbehave").attempt, 2);
  EXPECT_NE(place_.run({config, "--resume"}).err.find("no trials left to run"), std::string::npos);
}

TEST_F(Faults, AFolderIsOneRunsAtATime) {
  const std::string config = place_.write("hang.yaml", misbehaving("how: blocked, where: start"));
  Program first = place_.start({config, "-o", "here", "--only", "strategy=misbehave"});
  ASSERT_TRUE(first.says("1 trial:", 30));
  const Ended second = place_.run({config, "-o", "here", "--resume", "--only", "strategy=misbehave"});
  EXPECT_EQ(second.code, 5) << second.err;
  EXPECT_NE(second.err.find(std::to_string(first.id())), std::string::npos) << second.err;
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait().code, 143);
  const Ended other = place_.run({config, "-o", "here", "--resume", "--set", "epochs=3"});
  EXPECT_EQ(other.code, 5) << other.err;
  EXPECT_NE(other.err.find("epochs"), std::string::npos) << "names what differs: " << other.err;
}

// A run that is killed at random moments and resumed until it finishes must have the results of an undisturbed run.
using LongFaults = Faults;
TEST_F(LongFaults, ARunThatIsKilledAgainAndAgainEndsAsIfItWereNot) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string config = place_.write(
      "steady.yaml", small_config("scaling: {devices: [cpu:1, cpu:2], batch: 64}\nstrategies: [serial, replicated, tower]\n"
                                  "checkpoint_epochs: 1\n"));
  const auto words = [&](const std::string& folder) {
    std::vector<std::string> all = {config, "-o", folder, "--set", "epochs=20"};
    if (fs::exists(place_.folder() / folder / "results.sqlite")) all.push_back("--resume");
    return all;
  };
  const Ended calm = place_.run(words("calm"));
  ASSERT_EQ(calm.code, 0) << calm.err;
  const auto expected = read_run((place_.folder() / "calm").string());
  for (int round = 0; round < 10; ++round) {
    const std::string folder = "disturbed" + std::to_string(round);
    Ended ended;
    for (int attempt = 0; attempt < 100 && ended.code != 0; ++attempt) {
      Program program = place_.start(words(folder));
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % (200 * (attempt + 1))));
      program.signal(SIGKILL);
      ended = program.wait();
      ASSERT_TRUE(ended.code == 0 || ended.code == -SIGKILL) << ended.code << ": " << ended.err;
      ASSERT_FALSE(anything_survives());
    }
    ASSERT_EQ(ended.code, 0) << "it never came to its end";
    const auto run = read_run((place_.folder() / folder).string());
    ASSERT_EQ(run.rows.size(), expected.rows.size());
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      EXPECT_EQ(run.rows[i].result.status, TrialStatus::done) << run.rows[i].result.cause;
      EXPECT_EQ(run.rows[i].result.weights_hash, expected.rows[i].result.weights_hash);
    }
  }
}

}  // namespace
}  // namespace mgcompare
