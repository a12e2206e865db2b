// Faults of a strategy during a run.

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "reports/comparison.h"
#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

using Faults = CommandTest;

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

TEST_F(Faults, AWorkerThatWasStoppedIsARowThatSaysSo) {
  EXPECT_EQ(place_.run({place_.write("paused.yaml", misbehaving("how: pause"))}).code, 0);
  const auto run = place_.only_run();
  const Comparison comparison = compare_rows(run);
  for (const Cell& cell : comparison.cells)
    EXPECT_EQ(cell.is_marked(MarkKind::stood_still), cell.done.front()->trial.strategy.name == "misbehave") << marks_text(cell.marks);
}

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
                    Fault{"segv", "start", "crashed", "SIGSEGV in setup, in start()"}, Fault{"segv", "step", "crashed", "SIGSEGV", 60, "cpu:1, cpu:2"},
                    Fault{"abort", "settle", "crashed", "SIGABRT in evaluation of epoch 1, in settle()"},
                    Fault{"exit", "step", "crashed", "ended by itself (exit code 0)"},
                    Fault{"normal exit", "step", "crashed", "ended by itself (exit code 0) in the warm-up, at batch ", 60, "cpu:1, cpu:2"},
                    Fault{"normal exit", "teardown", "crashed", "ended by itself (exit code 0) in teardown"},
                    Fault{"quick exit", "step", "crashed", "ended by itself (exit code 3) in the warm-up, at batch "},
                    Fault{"close descriptors", "step", "crashed", "connection to the program was closed", 60},
                    Fault{"busy", "step", "timeout", "over the limit of 3 s", 3},
                    Fault{"blocked", "start", "timeout", "over the limit of 3 s in setup, rank 0 in start()", 3}),
    [](const auto& info) {
      std::string name = info.param.how + "_in_" + info.param.where;
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    });

// Ways to end, each in a phase of a trial, in one run.
using Ends = std::vector<std::pair<std::string, std::string>>;

void expect_causes(const Workplace& place, const Ends& ends) {
  const std::map<std::string, std::string> kinds = {
      {"segv", "SIGSEGV"}, {"abort", "SIGABRT"}, {"fpe", "SIGFPE"}, {"exit", "the worker ended by itself (exit code 0)"},
      {"throw", "SIGABRT"}};        // an exception that leaves a destructor
  const std::map<std::string, std::string> places = {
      {"start", "in setup, in start()"}, {"step", "in step 6 of epoch 1 (training)"}, {"teardown", "in teardown"}};
  std::string rows;
  for (const auto& [how, where] : ends)
    rows += "  - misbehave: {how: " + how + ", where: " + where + ", step: 5, as: " + how + "-" + where + "}\n";
  const Ended ended = place.run({place.write(
      "crashes.yaml", small_config("scaling: {devices: [cpu:2], batch: 64}\nmeasure: {warm_up_steps: 0}\nstrategies:\n"
                                   "  - serial\n  - replicated\n" + rows))});
  EXPECT_EQ(ended.code, 3) << ended.err;
  const auto run = place.only_run();
  for (const auto& [how, where] : ends) {
    const Result& result = row_of(run, how + "-" + where).result;
    const bool is_thrown = how == "throw" && where != "teardown";
    EXPECT_EQ(result.status, is_thrown ? TrialStatus::failed : TrialStatus::crashed) << result.cause;
    EXPECT_EQ(result.cause, is_thrown ? "the planted error" : kinds.at(how) + " " + places.at(where));
    if (how == "throw" && !is_thrown) {
      EXPECT_THAT(result.log, testing::Contains(testing::HasSubstr("an exception left a thread, a destructor or a noexcept function: the planted error")));
    }
  }
  for (const char* fine : {"serial", "replicated"}) EXPECT_EQ(row_of(run, fine).result.status, TrialStatus::done);
  EXPECT_FALSE(anything_survives());
}

TEST_F(Faults, ACrashIsNamedWithItsPlace) {
  expect_causes(place_, {{"segv", "start"}, {"segv", "step"}, {"segv", "teardown"}, {"throw", "teardown"}});
}

using LongCrashes = Faults;
TEST_F(LongCrashes, AreNamedInEveryPlace) {
  Ends ends;
  for (const char* how : {"segv", "abort", "fpe", "exit", "throw"})
    for (const char* where : {"start", "step", "teardown"}) ends.emplace_back(how, where);
  expect_causes(place_, ends);
}

// What a plugin leaves in a worker must not reach the trials of others: a thread that ends the process some time later, open
// descriptors, a process.
TEST_F(Faults, WhatAPluginLeavesIsNamedAndDamagesNoOtherRow) {
  const std::map<std::string, std::string> left = {
      {"thread", "left 1 thread in"}, {"descriptors", "left 3 open descriptors in"}, {"grandchild", "left 1 process in"},
      {"streams", "changed the standard streams in"}};
  std::string rows;
  for (const auto& [how, what] : left) rows += "  - misbehave: {how: " + how + ", where: teardown, rank: 0, as: " + how + "}\n";
  const Ended ended = place_.run({place_.write("litter.yaml", small_config("scaling: {devices: [cpu:1, cpu:2], batch: 64}\n"
                                                                           "measure: {warm_up_steps: 0}\nstrategies:\n"
                                                                           "  - serial\n  - replicated\n  - tower\n" + rows)),
                                  "--set", "epochs=40"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  for (const Row& row : place_.only_run().rows) {
    const std::string& label = row.trial.strategy.label;
    std::vector<std::string> notes = row.result.notes;
    std::erase_if(notes, [](const std::string& note) { return note.find("worker") == std::string::npos; });
    EXPECT_EQ(row.result.status, TrialStatus::done) << row_name(row.trial) << ": " << row.result.cause;
    if (!left.contains(label)) {
      EXPECT_TRUE(notes.empty()) << row_name(row.trial) << ": " << notes[0];
      continue;
    }
    const std::string note = "the plugin of " + label + " " + left.at(label) + " the worker, which was replaced";
    EXPECT_EQ(notes, std::vector<std::string>{note});
    EXPECT_NE(ended.err.find("warning: " + row_name(row.trial) + ": " + note), std::string::npos) << ended.err;
  }
  EXPECT_FALSE(anything_survives());
}

TEST_F(Faults, APluginThatTakesAllMemoryIsARow) {
  const std::string config = place_.write(
      "hog.yaml", small_config("scaling: {devices: [cpu:1], batch: 64}\nmeasure: {memory_limit: 0.5}\n"
                               "strategies: [serial, {misbehave: {how: hog}}, replicated]\n"));
  // A sanitizer would end the process itself.
  const Ended ended = place_.run({config}, {{"ASAN_OPTIONS", "allocator_may_return_null=1"}, {"TSAN_OPTIONS", "allocator_may_return_null=1"}});
  EXPECT_EQ(ended.code, 3) << ended.err;
  const auto run = place_.only_run();
  for (const Row& row : run.rows) {
    const bool hog = row.trial.strategy.name == "misbehave";
    EXPECT_EQ(row.result.status, hog ? TrialStatus::out_of_memory : TrialStatus::done) << row.result.cause;
    if (hog) { EXPECT_NE(row.result.cause.find("the trial may use 0.50 GiB (measure.memory_limit)"), std::string::npos) << row.result.cause; }
  }
}

// All strategies but serial, which has one rank and no exchange.
std::vector<std::string> exchanging_strategies() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(MGCOMPARE_BINARY_DIR) / "lib/mgcompare/plugins")) {
    if (entry.path().extension() != ".so") continue;
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
  ASSERT_EQ(run.rows.size(), names.size() + 2) << "and, without a baseline, a reference with its control";
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
      "hanging.yaml", small_config("scaling: {devices: [cpu:2], batch: 64}\nmeasure: {progress_limit: 1}\nstrategies:\n" + strategies)),
       "--set", "data.set=synthetic", "--set", "data.shape=[1, 8, 8]", "--set", "data.classes=10", "--set", "data.samples=1024"});
  EXPECT_EQ(ended.code, 3) << ended.err;
  const auto run = place_.only_run();
  ASSERT_EQ(run.rows.size(), names.size() + 2) << "and, without a baseline, a reference with its control";
  for (const std::string& name : names) {
    EXPECT_EQ(row_of(run, name).result.status, TrialStatus::timeout) << name << ": " << row_of(run, name).result.cause;
    EXPECT_NE(row_of(run, name).result.cause.find("no progress for 1 s"), std::string::npos) << row_of(run, name).result.cause;
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

// 50 MB are more than a message between processes may have (Supervisor.AnAnswerOverTheLimitIsAFailureWithBothSizes).
TEST_F(Faults, ALongErrorIsCutAndIsNoCrash) {
  std::string rows;
  for (const char* where : {"start", "step"})
    rows += std::string("  - misbehave: {how: throw long, where: ") + where + ", as: " + where + "}\n";
  rows += "  - misbehave: {how: long metric, as: metric}\n";
  const Ended ended = place_.run({place_.write("long.yaml", small_config("scaling: {devices: [cpu:2], batch: 64}\n"
                                                                         "measure: {warm_up_steps: 0}\nstrategies:\n" + rows))});
  EXPECT_EQ(ended.code, 3) << ended.err.substr(0, 1000);
  EXPECT_LT(ended.err.size() + ended.out.size(), std::size_t{1} << 20);
  for (const Row& row : place_.only_run().rows) {
    const std::string& cause = row.result.cause;
    if (row.trial.strategy.name != "misbehave") continue;
    EXPECT_EQ(row.result.status, TrialStatus::failed) << row_name(row.trial) << ": " << cause.substr(0, 200);
    EXPECT_LT(cause.size(), 10'000u);
    if (row.trial.strategy.label == "metric") {
      EXPECT_EQ(cause.find("the name of a figure has 20971520 bytes, and may have 100: 'mmm"), 0u) << cause;
    } else {
      EXPECT_EQ(cause.find("the planted error xxx"), 0u) << cause.substr(0, 200);
      EXPECT_NE(cause.find("x [52420626 bytes left out]"), std::string::npos) << cause.substr(0, 200);
    }
  }
  EXPECT_FALSE(anything_survives());
  // Before the first trial, when the plugin is asked for its options.
  const Ended constructed = place_.run({place_.write("construct.yaml", small_config("scaling: {devices: [cpu:1], batch: 64}\n"
                                                                                    "strategies: [{misbehave: {how: throw long, where: construct}}]\n")),
                                        "--dry-run"});
  EXPECT_EQ(constructed.code, 2) << constructed.err.substr(0, 1000);
  EXPECT_NE(constructed.err.find("the planted error xxx"), std::string::npos) << constructed.err.substr(0, 1000);
  EXPECT_LT(constructed.err.size(), 20'000u);
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
  // It stops where the loss is no number, and not at the end: "step 2, loss nan".
  int step = -1;
  ASSERT_EQ(std::sscanf(run.rows[0].result.cause.c_str(), "step %d, loss", &step), 1) << run.rows[0].result.cause;
  EXPECT_LE(step, 10);
  const auto json = nlohmann::json::parse(text_of(run.directory + "/results.json"));
  EXPECT_EQ(json["trials"][0]["result"]["status"], "diverged");
  EXPECT_EQ(json["trials"][0]["result"]["cause"], run.rows[0].result.cause);
  EXPECT_EQ(json["rows"][0]["done"], 0) << "it is in no figure of its row";
}

// All durations come from a clock that nobody sets.
TEST_F(Faults, AWallClockThatJumpsChangesNothing) {
  const std::string library = (fs::path(MGCOMPARE_BINARY_DIR) / "lib/mgcompare/fakes/wall_clock.so").string();
  if (!fs::exists(library)) GTEST_SKIP() << library << " is not built";
  const std::string config = place_.write(
      "clock.yaml", small_config("scaling: {devices: [cpu:1, cpu:2], batch: 64}\nmeasure: {time_limit: 60}\n"
                                 "strategies: [serial, replicated]\n"));
  const auto begin = std::chrono::steady_clock::now();
  const Ended ended = place_.run({config}, {{"LD_PRELOAD", library}, {"ASAN_OPTIONS", "verify_asan_link_order=0"}});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_EQ(ended.code, 0) << ended.err;
  for (const Row& row : place_.only_run().rows) {
    EXPECT_EQ(row.result.status, TrialStatus::done) << row.result.cause;
    for (const double part : {row.result.seconds_setup, row.result.seconds_warm_up, row.result.seconds_training,
                              row.result.seconds_evaluation, row.result.seconds_worker_start}) {
      EXPECT_GE(part, 0);
      EXPECT_LT(part, seconds);
    }
    EXPECT_GT(row.result.seconds_training, 0);
  }
}

// A thousand trials: the runner's descriptors, memory and children stay as they are after the first hundred.
using LongSoak = Faults;
TEST_F(LongSoak, AThousandTrialsLeaveTheRunnerAsItWas) {
  std::string seeds;
  for (int seed = 1; seed <= 250; ++seed) seeds += (seed == 1 ? "" : ", ") + std::to_string(seed);
  Program program = place_.start({place_.write(
      "soak.yaml", small_config("seeds: [" + seeds + "]\nmeasure: {warm_up_steps: 0}\nscaling: {devices: [cpu:1, cpu:2], batch: 64}\n"
                                "strategies: [serial, replicated, {misbehave: {how: segv, where: start, rank: 1}}]\n"))});
  const fs::path runner = "/proc/" + std::to_string(program.id());
  const auto descriptors = [&] { return std::distance(fs::directory_iterator(runner / "fd"), fs::directory_iterator()); };
  const auto pages = [&] {
    long size = 0, resident = 0;
    std::ifstream(runner / "statm") >> size >> resident;
    return resident;
  };
  const auto children = [&] {
    std::ifstream file(runner / "task" / std::to_string(program.id()) / "children");
    return std::distance(std::istream_iterator<pid_t>(file), {});
  };
  constexpr double kPatience = 1500;  // the time does not matter
  ASSERT_TRUE(program.says("[ 100/", kPatience));
  const auto descriptors_before = descriptors();
  const long pages_before = pages();
  ASSERT_TRUE(program.says("[1000/", kPatience));
  EXPECT_LE(descriptors(), descriptors_before + 1) << "a worker that is being started has more";
  EXPECT_LE(children(), 1);
  EXPECT_LT((pages() - pages_before) * 4096, 5 << 20);
  program.signal(SIGTERM);
  EXPECT_EQ(program.wait().code, 143);
}

}  // namespace
}  // namespace mgcompare
