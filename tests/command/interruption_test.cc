// Runs that a user, an administrator or a power failure ends early.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

using Interruptions = CommandTest;

std::string hanging(const std::string& options) {
  return small_config("scaling: {devices: [cpu:1], batch: 64}\nmeasure: {time_limit: 60}\n"
                      "strategies: [serial, {misbehave: {" + options + "}}, replicated]\n");
}

std::string two_rows() {
  return small_config("scaling: {devices: [cpu:1], batch: 64}\nstrategies: [serial, replicated]\n") ;
}

class Interrupted : public Interruptions, public testing::WithParamInterface<std::pair<int, int>> {};

TEST_P(Interrupted, StopsAfterItsStepWithAPartialReport) {
  if (IsSkipped()) return;
  Program program = place_.start({place_.write("long.yaml", two_rows()), "--set", "epochs=100000"});
  ASSERT_TRUE(program.says("3 trials", 30));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  program.signal(GetParam().first);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.code, GetParam().second) << ended.err;
  EXPECT_EQ(ended.err.find("changed by another program"), std::string::npos) << ended.err;
  const auto run = place_.only_run();
  EXPECT_TRUE(fs::exists(run.directory + "/report.md"));
  EXPECT_EQ(run.rows[0].result.status, TrialStatus::interrupted) << run.rows[0].result.cause;
  EXPECT_EQ(run.rows[0].result.cause.find("did not stop by itself"), std::string::npos) << run.rows[0].result.cause;
  EXPECT_NE(run.rows[1].state, RowState::finished);
  EXPECT_FALSE(anything_survives());
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupted,
                         testing::Values(std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}, std::pair{SIGHUP, 143},
                                         std::pair{SIGQUIT, 143}, std::pair{SIGUSR1, 143}));

// `timeout` signals the process and then its group. That is one interruption.
TEST_F(Interruptions, SignalsAtTheSameMomentCountAsOne) {
  Program program = place_.start({place_.write("long.yaml", two_rows()), "--set", "epochs=100000"});
  ASSERT_TRUE(program.says("3 trials", 30));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  for (int i = 0; i < 3; ++i) {
    program.signal(SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(program.wait().code, 143);
  const auto run = place_.only_run();
  EXPECT_TRUE(fs::exists(run.directory + "/report.md"));
  EXPECT_EQ(run.rows[0].result.status, TrialStatus::interrupted) << run.rows[0].result.cause;
}

// While devices are listed, strategies probed and data loaded: quickly, and with a true message.
TEST_F(Interruptions, BeforeTheFirstTrialItIsSaidWhatWasLost) {
  const std::string config = place_.write("long.yaml", two_rows());
  for (const int milliseconds : {20, 100, 250, 500, 800}) {
    const std::string directory = "run" + std::to_string(milliseconds);
    Program program = place_.start({config, "--set", "epochs=100000", "-o", directory});
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    program.signal(SIGTERM);
    const Ended ended = program.wait();
    EXPECT_TRUE(ended.code == 143 || ended.code == -SIGTERM) << ended.err;
    if (fs::exists(place_.folder() / directory / "report.md")) continue;
    const bool is_said = ended.err.find("interrupted before the first trial; no result was recorded") != std::string::npos;
    EXPECT_TRUE(is_said || ended.err.empty()) << milliseconds << " ms: " << ended.err;
    EXPECT_EQ(ended.err.find("run the command again"), std::string::npos) << ended.err;
  }
  EXPECT_FALSE(anything_survives());
}

// The program ends at once and says so. It does not wait for the trial and writes no partial report.
TEST_F(Interruptions, ASecondInterruptionEndsAtOnce) {
  const std::string config = place_.write("hang.yaml", hanging("how: busy, where: start"));
  Program program = place_.start({config, "--only", "strategy=misbehave"});
  ASSERT_TRUE(program.says("1 trial with seed ", 30));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  program.signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  program.signal(SIGINT);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.code, 130);
  EXPECT_NE(ended.err.find("ended at once by a second signal; no report was written"), std::string::npos) << ended.err;
  const auto run = place_.only_run();
  EXPECT_FALSE(fs::exists(run.directory + "/report.md"));
  EXPECT_NE(run.rows[0].state, RowState::finished);
  EXPECT_FALSE(anything_survives());
}

TEST_F(Interruptions, AHangingTrialDoesNotHoldUpAnInterruption) {
  const std::string config = place_.write("hang.yaml", hanging("how: busy, where: step")), hangs = place_.folder() / "hangs";
  Program program = place_.start({config, "--only", "strategy=misbehave"}, {{"MGCOMPARE_TEST_SPINNING", hangs}});
  for (int tenths = 0; tenths < 600 && !fs::exists(hangs); ++tenths) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ASSERT_TRUE(fs::exists(hangs));
  program.signal(SIGINT);
  EXPECT_EQ(program.wait().code, 130);
  const Result result = place_.only_run().rows[0].result;
  EXPECT_EQ(result.status, TrialStatus::interrupted);
  EXPECT_NE(result.cause.find("did not stop by itself"), std::string::npos) << result.cause;
}

TEST_F(Interruptions, AConstructorThatHangsIsNotCalledACrash) {
  Program program = place_.start({place_.write("hang.yaml", hanging("how: blocked, where: construct")), "-o", "run"});
  std::this_thread::sleep_for(std::chrono::seconds(2));
  program.signal(SIGINT);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_NE(ended.err.find("interrupted before the first trial; no result was recorded"), std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("crashed"), std::string::npos) << ended.err;
}

TEST_F(Interruptions, AKilledRunLosesNothingAndIsResumed) {
  const std::string config = place_.write("hang.yaml", hanging("how: blocked, where: step"));
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

// A shell that the program takes the place of has started them, with `> >(tee log)` for example.
TEST_F(Interruptions, ChildrenThatItDidNotStartAreLeftAlone) {
  const Ended ended = place_.run_by_shell(R"(sleep 60 > /dev/null 2>&1 & echo $! > other; exec "$0" "$@")",
                                          {place_.write("short.yaml", two_rows()), "-o", "short"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  pid_t other = 0;
  std::ifstream(place_.folder() / "other") >> other;
  ASSERT_GT(other, 0);
  EXPECT_EQ(kill(other, SIGKILL), 0) << "it still runs";
}

TEST_F(Interruptions, AFolderIsOneRunsAtATime) {
  const std::string config = place_.write("hang.yaml", hanging("how: blocked, where: start"));
  Program first = place_.start({config, "-o", "here", "--only", "strategy=misbehave"});
  ASSERT_TRUE(first.says("1 trial with seed ", 30));
  const Ended second = place_.run({config, "-o", "here", "--resume", "--only", "strategy=misbehave"});
  EXPECT_EQ(second.code, 5) << second.err;
  EXPECT_NE(second.err.find(std::to_string(first.id())), std::string::npos) << second.err;
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait().code, 143);
  const Ended other = place_.run({config, "-o", "here", "--resume", "--set", "epochs=3"});
  EXPECT_EQ(other.code, 5) << other.err;
  EXPECT_NE(other.err.find("epochs"), std::string::npos) << "names what differs: " << other.err;
}

// Signals at random moments of a run: a partial report, the right code, nothing left.
using LongSignals = Interruptions;
TEST_F(LongSignals, AtRandomMomentsEndInAPartialReport) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string config = place_.write("long.yaml", two_rows());
  for (int round = 0; round < 100 && !HasFailure(); ++round) {
    const std::string folder = "run" + std::to_string(round);
    const int number = std::array{SIGINT, SIGTERM, SIGHUP}[random() % 3];
    Program program = place_.start({config, "-o", folder, "--set", "epochs=100000"});
    ASSERT_TRUE(program.says("3 trials", 30));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 1500));
    const auto begin = std::chrono::steady_clock::now();
    program.signal(number);
    EXPECT_EQ(program.wait().code, number == SIGINT ? 130 : 143);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
    EXPECT_TRUE(fs::exists(place_.folder() / folder / "report.md"));
    EXPECT_FALSE(anything_survives());
  }
}

// A run that is killed at random moments and resumed until it finishes must have the results of an undisturbed run.
class LongKills : public Interruptions {
 protected:
  // What was printed as finished is in the file. A line ends with its trial's figures.
  void expect_stored(const Ended& ended, const std::string& folder) const {
    int printed = 0, stored = 0;
    std::istringstream lines(ended.err);
    for (std::string line; std::getline(lines, line);) printed += line.starts_with("[") && line.find(" samples/s") != std::string::npos ? 1 : 0;
    if (printed == 0) return;
    const int before = stored_[folder];
    for (const Row& row : read_run((place_.folder() / folder).string()).rows) stored += row.state == RowState::finished ? 1 : 0;
    EXPECT_GE(stored, before + printed) << folder << ": a trial that was printed as finished is lost: " << ended.err;
    stored_[folder] = stored;
  }
  mutable std::map<std::string, int> stored_;
};
TEST_F(LongKills, ARunThatIsKilledAgainAndAgainEndsAsIfItWereNot) {
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
  int kills = 0;
  for (int round = 0; kills < 200; ++round) {
    const std::string folder = "disturbed" + std::to_string(round);
    Ended ended;
    for (int attempt = 0; attempt < 100 && ended.code != 0; ++attempt) {
      Program program = place_.start(words(folder));
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % (200 * (attempt + 1))));
      program.signal(SIGKILL);
      ended = program.wait();
      ASSERT_TRUE(ended.code == 0 || ended.code == -SIGKILL) << ended.code << ": " << ended.err;
      ASSERT_FALSE(anything_survives());
      expect_stored(ended, folder);
      kills += ended.code != 0;
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

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// A process in its own session that ignores signals, left by a trial that still runs when the program is stopped hard.
class HardStop : public Interruptions {
 protected:
  void expect_no_survivor(const std::function<void(const Program&)>& stop) {
    const std::string file = (place_.folder() / "grandchild").string(), folder = "run" + std::to_string(++count_);
    fs::remove(file);
    const std::string config = place_.write("hard.yaml", small_config(
        "scaling: {devices: [cpu:1], batch: 64}\nmeasure: {warm_up_steps: 0}\nstrategies: [{misbehave: {how: grandchild and hang}}]\n"));
    Program program = place_.start({config, "-o", folder}, {{"MGCOMPARE_TEST_GRANDCHILD", file}});
    const auto begin = std::chrono::steady_clock::now();
    while (text_of(file).find('\n') == std::string::npos && std::chrono::steady_clock::now() - begin < std::chrono::seconds(30))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const pid_t grandchild = std::atoi(text_of(file).c_str());
    ASSERT_GT(grandchild, 0);
    ASSERT_EQ(kill(grandchild, 0), 0);
    stop(program);
    program.wait();
    const auto stopped = std::chrono::steady_clock::now();
    EXPECT_FALSE(anything_survives());
    const double seconds = seconds_since(stopped);
    EXPECT_NE(kill(grandchild, 0), 0);
    EXPECT_LT(seconds, std::max(1.0, 5 * seconds_with_a_worker()));
  }
  // What the machine takes at the moment to start the program with a worker, and to end both. Other programs slow down this
  // and what is measured alike.
  double seconds_with_a_worker() const {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(place_.run({"devices"}).code, 0);
    return seconds_since(begin);
  }
  void interrupt_twice() {
    expect_no_survivor([](const Program& program) {
      program.signal(SIGINT);
      std::this_thread::sleep_for(std::chrono::milliseconds(600));
      program.signal(SIGINT);
    });
  }
  void kill_runner() {
    expect_no_survivor([](const Program& program) { program.signal(SIGKILL); });
  }

 private:
  int count_ = 0;
};
using LongHardStop = HardStop;

TEST_F(HardStop, TwoInterruptionsLeaveNoGrandchild) { interrupt_twice(); }
TEST_F(HardStop, AKillOfTheRunnerLeavesNoGrandchild) { kill_runner(); }
TEST_F(LongHardStop, FiftyTimesTwoInterruptionsLeaveNoGrandchild) {
  for (int i = 0; i < 50 && !HasFailure(); ++i) interrupt_twice();
}
TEST_F(LongHardStop, FiftyKillsOfTheRunnerLeaveNoGrandchild) {
  for (int i = 0; i < 50 && !HasFailure(); ++i) kill_runner();
}

}  // namespace
}  // namespace mgcompare
