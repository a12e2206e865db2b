// Backends as a user meets them: rows beside those of strategies, with their own causes. The backend is tests/backends/plain, which
// trains in plain Python or misbehaves as an option says.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "command/rig.h"
#include "reports/marks.h"
#include "reports/promise.h"
#include "results/weight_sketch.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using Variables = std::map<std::string, std::string>;

class Backend : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (!IsSkipped() && access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "there is no python3, in which the tests' backend is written";
  }
  static std::string folder() { return std::string(MGCOMPARE_SOURCE_DIR) + "/tests/backends/plain"; }
  static Variables variables(Variables more = {}) {
    more.emplace("MGCOMPARE_PLUGIN_PATH", folder());
    return more;
  }
  std::string config(const std::string& strategies, const std::string& rest = "") const {
    return place_.write("b.yaml", "name: small\nlayers: [flatten, {dense: 6}, tanh, {dense: 10}]\n"
                                  "data: {set: synthetic, shape: [1, 8, 8], classes: 10, samples: 80, train_samples: 64}\n"
                                  "epochs: 2\noptimizer: {learning_rate: 0.1, momentum: 0.9}\nmeasure: {level: quick, time_limit: 20, memory_limit: 2}\n"
                                  "scaling: {devices: [cpu:1], batch: 24}\nstrategies: " + strategies + "\n" + rest);
  }
  Ended compare(const std::string& strategies, const std::string& rest = "", const Variables& more = {}) const {
    return place_.run({config(strategies, rest)}, variables(more));
  }
};

std::string marks_of_row(const Run& run, const Row& row) { return marks_text(marks_of(row, PromiseChecks(run).of(row))); }

TEST_F(Backend, TrainsTheSameExperiment) {
  const Ended ended = compare("[serial, plain]");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, Not(HasSubstr("was replaced"))) << "nothing is left in the worker";
  const auto run = place_.only_run();
  const Result& serial = row_of(run, "serial").result;
  const Row& row = row_of(run, "plain");
  const Result& plain = row.result;
  ASSERT_EQ(plain.status, TrialStatus::done) << plain.cause;
  ASSERT_EQ(plain.epochs.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(plain.epochs[i].loss, serial.epochs[i].loss, 1e-5) << i;
    EXPECT_EQ(plain.epochs[i].accuracy, serial.epochs[i].accuracy) << i;
    EXPECT_LT(sketch_distance(plain.epochs[i].sketch, serial.epochs[i].sketch).value(), 1e-4) << i;
    EXPECT_NEAR(plain.epochs[i].seconds_training, plain.epochs[i].seconds_reported, 0.02);
  }
  EXPECT_EQ(plain.samples, 128u);
  EXPECT_EQ(plain.samples_due, 128u);
  EXPECT_EQ(plain.steps, 6u);
  EXPECT_EQ(plain.parameters, serial.parameters);
  EXPECT_GT(plain.samples_per_second, 0);
  EXPECT_GT(plain.step_seconds_median, 0);
  EXPECT_GT(plain.seconds_setup, 0);
  EXPECT_EQ(plain.traits.at("promise"), "exact");
  EXPECT_THAT(plain.notes, Contains("plain lists, 1 core"));
  EXPECT_THAT(plain.notes, Contains("trained with plain 1.0"));
  EXPECT_EQ(plain.framework + " " + plain.framework_version, "Plain lists 1.0");
  EXPECT_EQ(plain.like, "serial") << "on one device";
  EXPECT_EQ(plain.versions.at("plain"), "1.0");
  EXPECT_EQ(plain.samples_evaluated, 10u);
  EXPECT_EQ(serial.samples_evaluated, 10u);
  EXPECT_EQ(serial.framework + serial.like, "");
  EXPECT_THAT(plain.notes, Contains("differs by design: its arithmetic has 64 bits"));
  EXPECT_EQ(PromiseChecks(run).of(row).state, PromiseState::kept);
  EXPECT_THAT(marks_of_row(run, row), Not(HasSubstr("sent nothing")));
  EXPECT_FALSE(anything_survives());
}

struct Fault {
  const char* fault;
  const char* when;
  TrialStatus status;
  const char* cause;
};

// Runs a row for each, and one that is right.
void expect_causes(const Workplace& place, const Ended& ended, const std::vector<Fault>& faults) {
  EXPECT_EQ(ended.code, 3) << ended.err;
  const Run run = place.only_run();
  for (const Fault& fault : faults) {
    const Result& result = row_of(run, std::string(fault.fault) + " " + fault.when).result;
    EXPECT_EQ(result.status, fault.status) << fault.fault << ": " << result.cause;
    EXPECT_THAT(result.cause, HasSubstr(fault.cause)) << fault.fault;
  }
  EXPECT_EQ(row_of(run, "plain").result.status, TrialStatus::done);
  EXPECT_EQ(row_of(run, "serial").result.status, TrialStatus::done);
  EXPECT_FALSE(anything_survives());
}

std::string rows_of(const std::vector<Fault>& faults) {
  std::string rows = "[serial";
  for (const Fault& fault : faults)
    rows += std::string(", {plain: {fault: ") + fault.fault + ", in: " + fault.when + ", as: " + fault.fault + " " + fault.when + "}}";
  return rows + ", plain]";
}

TEST_F(Backend, WrongMessagesAreCauses) {
  const std::vector<Fault> faults = {
      {"garbage", "setup", TrialStatus::failed, "the backend plain sent 'Epoch 1/3: 100%|####|', which is not a JSON object"},
      {"huge", "epoch", TrialStatus::failed, "the backend plain sent a line of more than 1048576 bytes"},
      {"other_id", "epoch", TrialStatus::failed, "the backend plain sent a message with the id '3', but the request has 2"},
      {"other_type", "end", TrialStatus::failed, "the backend plain sent 'hello' where 'ended' is due"},
      {"error", "setup", TrialStatus::failed, "it does not want to"},
      {"short", "epoch", TrialStatus::failed, "bytes of weights, but the 460 parameters and 0 buffers of the network are 1840"},
      {"stale", "epoch", TrialStatus::failed, "their file is not there"},
      {"fewer_steps", "epoch", TrialStatus::failed, "in epoch 1, the backend plain made 2 steps, but 64 samples in batches of 24 are 3"},
      {"infinite", "epoch", TrialStatus::diverged, "after epoch 1, weights are not finite"},
      {"diverges", "epoch", TrialStatus::diverged, "in epoch 1, the loss is not finite"}};
  expect_causes(place_, compare(rows_of(faults)), faults);
}

TEST_F(Backend, EndsAndSurvivorsAreCauses) {
  const std::vector<Fault> faults = {
      {"dies", "epoch", TrialStatus::failed, "the backend plain ended by itself (exit code 3); its last words: Traceback: out of ideas"},
      {"signal", "setup", TrialStatus::crashed, "the backend plain ended by itself (SIGSEGV)"},
      {"silent", "epoch", TrialStatus::timeout, "over the limit of 3 s"},
      {"children", "epoch", TrialStatus::failed, "left 1 process running when it ended"},
      {"session", "epoch", TrialStatus::failed, "left 1 process running when it ended"},
      {"memory", "setup", TrialStatus::out_of_memory, "no memory for 64 GiB"}};
  expect_causes(place_, place_.run({config(rows_of(faults)), "--set", "measure.time_limit=3", "--set", "epochs=1"}, variables()), faults);
}

TEST_F(Backend, FiguresThatAreNotWhatTheySeemAreMarked) {
  const std::string rows =
      "[serial, {plain: {fault: fast_clock, as: fast}}, {plain: {fault: slow_clock, as: slow}}, {plain: {fault: unclocked, as: late}}, "
      "{plain: {fault: early, as: early}}, {plain: {fault: momentum, as: momentum}}, {plain: {fault: skips, as: skips}}, "
      "{plain: {fault: twice, as: twice}}, plain]";
  const Ended ended = place_.run({config(rows), "--set", "epochs=1"}, variables({{"MGCOMPARE_TEST_EPOCH", "0.3"}}));
  EXPECT_EQ(ended.code, 0) << ended.err;
  const auto run = place_.only_run();
  const auto marks = [&](const char* label) { return marks_of_row(run, row_of(run, label)); };
  EXPECT_THAT(marks("fast"), HasSubstr("its clock says 0.1"));
  EXPECT_THAT(marks("slow"), HasSubstr("its clock says 0.4"));
  for (const char* label : {"late", "early"}) EXPECT_THAT(marks(label), HasSubstr("s outside of its clock")) << label;
  for (const char* label : {"momentum", "skips", "twice"}) EXPECT_THAT(marks(label), HasSubstr("promise broken in epoch 1")) << label;
  EXPECT_THAT(marks("plain"), Not(HasSubstr("clock")));
  EXPECT_THAT(marks("plain"), Not(HasSubstr("promise")));
}

TEST_F(Backend, CannotChangeTheSamplesOfLaterTrials) {
  const Ended ended = compare("[serial, plain, {plain: {fault: writes, as: writes}}]", "", {});
  EXPECT_EQ(ended.code, 3) << ended.err;
  const auto run = place_.only_run();
  EXPECT_EQ(row_of(run, "writes").result.status, TrialStatus::failed);
  EXPECT_THAT(row_of(run, "writes").result.cause, HasSubstr("the backend changed the samples or the targets"));
  // In whatever order they ran.
  for (const char* seeds : {"[1]", "[2]", "[3]"}) {
    const std::string folder = std::string("run") + seeds[1];
    place_.run({config("[serial, {plain: {fault: writes, as: writes}}, plain]"), "--set", std::string("seeds=") + seeds, "-o", folder}, variables());
    const mgcompare::Run other = read_run((place_.folder() / folder).string());
    EXPECT_EQ(PromiseChecks(other).of(row_of(other, "plain")).state, PromiseState::kept) << seeds;
  }
}

TEST_F(Backend, KeepsFilesForLaterTrialsOfTheRun) {
  for (const char* output : {"first", "second"}) {
    EXPECT_EQ(place_.run({config("[serial, plain]", "seeds: [1, 2, 3]\n"), "--set", "measure.level=normal", "-o", output}, variables()).code, 0);
    std::vector<std::string> numbers;
    for (const Row& row : read_run((place_.folder() / output).string()).rows)
      for (const std::string& text : row.result.notes)
        if (text.starts_with("trial ")) numbers.push_back(text);
    EXPECT_THAT(numbers, testing::UnorderedElementsAre("trial 1 of the run", "trial 2 of the run", "trial 3 of the run")) << output;
  }
}

// The program waits for the next answer, so the work delays it, or is done beside the evaluation.
TEST_F(Backend, ThatWorksDuringEvaluationsIsMarked) {
  const Ended ended =
      place_.run({config("[serial, plain, {plain: {fault: paused, as: paused}}]"), "--set", "epochs=3"}, variables({{"MGCOMPARE_TEST_EPOCH", "0.2"}}));
  EXPECT_EQ(ended.code, 0) << ended.err;
  const auto run = place_.only_run();
  EXPECT_THAT(marks_of_row(run, row_of(run, "paused")), HasSubstr("s outside of its clock"));
  EXPECT_THAT(marks_of_row(run, row_of(run, "plain")), Not(HasSubstr("outside of its clock")));
}

// The program cannot repeat the masks of another; plain's drop nothing.
TEST_F(Backend, IsNotExactWithDropout) {
  const Ended ended = place_.run({config("[serial, plain]"), "--set", "layers=[flatten, {dense: 6}, {dropout: {rate: 0.5}}, tanh, {dense: 10}]"}, variables());
  EXPECT_EQ(ended.code, 0) << ended.err;
  const auto run = place_.only_run();
  const Row& row = row_of(run, "plain");
  EXPECT_EQ(row.result.traits.at("promise"), "approximate") << row.result.cause;
  EXPECT_THAT(row.result.notes, Contains(HasSubstr("dropout has the backend's own masks")));
  EXPECT_THAT(marks_of_row(run, row), Not(HasSubstr("promise")));
}

TEST_F(Backend, ThatWorksBetweenShortEpochsIsMarked) {
  const Ended ended = place_.run({config("[serial, {plain: {fault: unclocked}}]"), "--set", "epochs=2"},
                                 variables({{"MGCOMPARE_TEST_EPOCH", "0.1"}, {"MGCOMPARE_TEST_UNCLOCKED", "0.12"}}));
  EXPECT_EQ(ended.code, 0) << ended.err;
  const auto run = place_.only_run();
  EXPECT_THAT(marks_of_row(run, row_of(run, "plain")), HasSubstr("s outside of its clock"));
}

TEST_F(Backend, WithNamesThatDoNotExistOrATakenNameIsNotFine) {
  const Ended checked = place_.run({"plugins", "check", folder() + "/backend.json"}, variables({{"MGCOMPARE_TEST_DESCRIBE", "layer"}}));
  for (const char* told : {"`layers` has 'rellu', which is no layer of mgcompare; did you mean 'relu'?", "`precisions` has 'float32', which is no precision of mgcompare; ",
                           "`optimizers` has 'adamm', which is no optimiser of mgcompare; did you mean 'adam'?", "`like` has 'serail', which is no strategy that is found here;"})
    EXPECT_TRUE(checked.code == 1 && checked.out.find(told) != std::string::npos && checked.out.find("fine") == std::string::npos) << checked.out;
  const fs::path copy = place_.folder() / "copy";
  fs::copy(folder(), copy);
  std::ofstream(copy / "backend.json") << R"({"protocol": 1, "name": "serial", "description": "x", "python": "backend.py"})";
  const Ended taken = place_.run({"plugins", "check", copy.string()}, {{"MGCOMPARE_TEST_NAME", "serial"}});
  EXPECT_EQ(taken.code, 1);
  EXPECT_THAT(taken.out, HasSubstr("which has the same name 'serial': choose another name"));
}

TEST_F(Backend, ThatCannotDescribeItselfIsUnavailable) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"dies", "the backend plain ended by itself (exit code 1); its last words: no module named nothing: install it"},
      {"garbage", "the backend plain sent 'hello', which is not a JSON object"},
      {"unavailable", "it needs nothing: install it"}};
  for (const auto& [how, reason] : cases) {
    const Variables environment = variables({{"MGCOMPARE_TEST_DESCRIBE", how}});
    const Ended listed = place_.run({"plugins"}, environment);
    EXPECT_EQ(listed.code, 0) << listed.err;
    EXPECT_THAT(listed.out, HasSubstr(std::string("cannot run here: ") + reason));
    EXPECT_THAT(listed.out, HasSubstr("tower")) << "the others are still listed";
    EXPECT_EQ(place_.run({"plugins", "check", folder() + "/backend.json"}, environment).code, 1);
  }
  const Ended ended = compare("[serial, plain]", "", {{"MGCOMPARE_TEST_DESCRIBE", "unavailable"}});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const auto run = place_.only_run();
  EXPECT_THAT(ended.err, HasSubstr("warning: rows of plain are unavailable: it needs nothing: install it\n"));
  EXPECT_EQ(row_of(run, "plain").result.status, TrialStatus::unavailable);
  EXPECT_EQ(row_of(run, "plain").result.cause, "it needs nothing: install it");
  EXPECT_EQ(row_of(run, "serial").result.status, TrialStatus::done);
  EXPECT_FALSE(anything_survives());
}

TEST_F(Backend, ThatBecomesAvailableRunsWhenItsRunIsResumed) {
  const std::string file = config("[serial, plain]");
  EXPECT_EQ(place_.run({file, "-o", "run"}, variables({{"MGCOMPARE_TEST_DESCRIBE", "unavailable"}})).code, 0);
  const auto row = [&](const char* label) { return row_of(read_run((place_.folder() / "run").string()), label); };
  EXPECT_EQ(row("plain").result.status, TrialStatus::unavailable);
  const Ended resumed = place_.run({file, "-o", "run", "--resume"}, variables());
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("1 finished trial of plain runs again, because it was unavailable and is not now"));
  EXPECT_EQ(row("plain").result.status, TrialStatus::done);
  EXPECT_EQ(row("serial").attempt, 1);
}

TEST_F(Backend, WhatItLacksMakesRowsUnavailable) {
  const Ended ended = place_.run({config("[serial, {plain: {wants: true}}]", "variants: [{name: adam, set: {optimizer.kind: adam}}]\n"), "--dry-run"}, variables());
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("wants needs version 2; 1 is installed"));
  const Ended other = place_.run({config("[serial, plain]", "variants: [{name: adam, set: {optimizer.kind: adam}}]\n"), "--dry-run"}, variables());
  EXPECT_THAT(other.out, HasSubstr("plain does not support the optimiser adam"));
}

TEST_F(Backend, OptionsAreCheckedAtTheirPlace) {
  const Ended ended = compare("\n  - serial\n  - plain: {fault: nothing, many: 10, rate: 2, wants: 1, fautl: none}\n  - plain: {rate: 0.5, as: half}");
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("b.yaml:10:20: error: 'fault' of 'plain': must be one of none | garbage"));
  EXPECT_THAT(ended.err, HasSubstr("'many' of 'plain': must be an integer, 1 to 9, not '10'"));
  EXPECT_THAT(ended.err, HasSubstr("'rate' of 'plain': must be a number, 0 to 1, not '2'"));
  EXPECT_THAT(ended.err, HasSubstr("'wants' of 'plain': must be true or false, not '1'"));
  EXPECT_THAT(ended.err, HasSubstr("unknown option 'fautl'"));
  EXPECT_THAT(ended.err, HasSubstr("'rate' of 'plain': 0.5 does not work"));
}

TEST_F(Backend, RunsWithTheInterpreterOfTheConfig) {
  const std::string mine = (place_.folder() / "python").string();
  place_.write("python", "#!/bin/sh\ntouch " + (place_.folder() / "seen").string() + "\nexec /usr/bin/python3 \"$@\"\n");
  ASSERT_EQ(chmod(mine.c_str(), 0755), 0);
  EXPECT_EQ(compare("[plain]", "python: ./python\n").code, 0);
  EXPECT_TRUE(fs::exists(place_.folder() / "seen"));
  ASSERT_EQ(chmod(mine.c_str(), 0644), 0);
  for (const auto& [python, problem] :
       {std::pair("/nowhere/python", "names /nowhere/python, which is not a program"), std::pair("./python", "/python, which is not a program"),
        std::pair("no-such-python", "names no-such-python, and there is no program of this name on PATH")}) {
    const Ended without = place_.run({config("[serial, plain]", std::string("python: ") + python + "\n")}, variables());
    EXPECT_EQ(without.code, 2) << without.err;
    EXPECT_THAT(without.err, ContainsRegex("b.yaml:9:9: error: `python:` [^\n]*" + std::string(problem)));
    EXPECT_THAT(without.err, HasSubstr("write the path of an interpreter"));
  }
}

TEST_F(Backend, IsVerifiedAgainstOneDevice) {
  const auto verify = [&](const std::string& rows, const std::string& only, const Variables& more = {}) {
    return place_.run({"verify", "--quick", "--seed", "1", "--only", only, config(rows)}, variables(more));
  };
  const Ended right = verify("[serial, plain]", "strategy=plain");
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  EXPECT_THAT(right.out, HasSubstr("equals one device after some steps in fp32"));
  EXPECT_THAT(right.out, HasSubstr("after 20 steps, limit 1e-03"));
  EXPECT_THAT(right.out, ContainsRegex("equals one device after hundreds of steps .*after 3[0-9][0-9] steps, limit 1e-03"));
  EXPECT_THAT(right.out, ContainsRegex("equals one device with the batches of the config .*batch 24: "));
  EXPECT_THAT(right.out, HasSubstr("equals one device with the learning rates of the config in fp32"));
  EXPECT_THAT(right.out, HasSubstr("reports the mean loss of one device in each epoch"));
  EXPECT_THAT(right.out, HasSubstr("plain does not support the optimiser adam"));
  EXPECT_THAT(right.out, HasSubstr("its arithmetic has 64 bits"));
  // Each is a row, and none has a row with the defaults beside it.
  std::string rows = "[serial", only;
  for (const char* fault : {"momentum", "skips", "late", "large", "between", "loss", "capped", "narrow", "dies"}) {
    rows += std::string(", {plain: {fault: ") + fault + ", as: " + fault + "}}";
    only += std::string(only.empty() ? "as=" : ",as=") + fault;
  }
  const Ended wrong = verify(rows + "]", only);
  EXPECT_EQ(wrong.code, 1) << wrong.out << wrong.err;
  for (const std::string fault : {"momentum", "skips", "late", "large", "between", "loss", "capped", "narrow", "dies"}) {
    const std::string figure = fault == "dies" ? "out of ideas" : fault == "loss" ? "in epoch " : "differs by";
    EXPECT_THAT(wrong.out, ContainsRegex("FAILED +" + fault + " [^\n]*" + figure));
  }
  // Where training amplifies rounding, a distance from one device says nothing.
  const Ended chaotic = place_.run({"verify", "--quick", "--seed", "1", "--only", "strategy=plain", "--set", "optimizer.learning_rate=3", "--set", "epochs=16",
                                    config("[serial, plain]")}, variables());
  EXPECT_EQ(chaotic.code, 0) << chaotic.out << chaotic.err;
  EXPECT_THAT(chaotic.out, HasSubstr("through the schedule of the config")) << "with another rate, because not all epochs could be judged";
  EXPECT_THAT(right.out, Not(HasSubstr("through the schedule of the config")));
  // Rounding grows there, and one control alone may be near one device.
  const Ended unscaled =
      place_.run({"verify", "--quick", "--seed", "3", "--only", "strategy=plain", "--set", "data.scale=1", config("[serial, plain]")}, variables());
  EXPECT_EQ(unscaled.code, 0) << unscaled.out << unscaled.err;
  // It knows no weight decay, and a small one hardly moves the weights within so few steps.
  const Ended undecayed = place_.run({"verify", "--quick", "--seed", "1", "--only", "as=undecayed", "--set", "optimizer.weight_decay=0.0001",
                                      config("[serial, {plain: {as: undecayed}}]")}, variables());
  EXPECT_EQ(undecayed.code, 1) << undecayed.out << undecayed.err;
  const Ended broken = verify("[serial, plain]", "strategy=plain", {{"MGCOMPARE_TEST_DESCRIBE", "signal"}});
  EXPECT_EQ(broken.code, 1) << broken.out;
  EXPECT_THAT(broken.out, HasSubstr("the backend plain ended by itself (SIGSEGV)"));
  EXPECT_FALSE(anything_survives());
}

TEST_F(Backend, IsVerifiedOnSeveralDevices) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "this process may use one processor only";
  const Ended ended = place_.run({"verify", "--quick", "--seed", "1", "--only", "as=right,as=apart",
                                  config("[serial, {plain: {fault: none, as: right}}, {plain: {fault: apart, as: apart}}]")},
                                 variables({{"MGCOMPARE_TEST_DESCRIBE", "several"}}));
  EXPECT_EQ(ended.code, 1) << ended.out << ended.err;
  EXPECT_THAT(ended.out, ContainsRegex("FAILED +apart +momentum +2 ranks +equals one device after some steps in fp32"));
  EXPECT_THAT(ended.out, Not(ContainsRegex("FAILED +apart +[a-z]+ +1 rank ")));
  EXPECT_THAT(ended.out, Not(ContainsRegex("FAILED +right ")));
}

// It may be far from one device, but must learn from all samples.
TEST_F(Backend, IsVerifiedAsAnApproximateOne) {
  const Ended ended = place_.run({"verify", "--quick", "--seed", "1", "--only", "as=skips,as=alternates,as=near",
                                  config("[serial, {plain: {fault: skips, as: skips}}, {plain: {fault: alternates, as: alternates}}, "
                                         "{plain: {fault: momentum, as: near}}]")},
                                 variables({{"MGCOMPARE_TEST_DESCRIBE", "approximate"}}));
  EXPECT_EQ(ended.code, 1) << ended.out << ended.err;
  for (const std::string lazy : {"skips", "alternates"})
    EXPECT_THAT(ended.out, ContainsRegex("FAILED +" + lazy + " .*the weights depend on the samples of two steps: other samples at positions [0-9]+ to [0-9]+"));
  EXPECT_THAT(ended.out, Not(ContainsRegex("FAILED +near ")));
  EXPECT_THAT(ended.out, ContainsRegex("info +near .*equals one device after some steps in fp32.*differs by"));
  EXPECT_FALSE(anything_survives());
}

TEST_F(Backend, IsNeitherRecordedNorReplayed) {
  const Ended run = place_.run({config("[plain]"), "--set", "measure.record=true", "-o", "recorded"}, variables());
  EXPECT_EQ(run.code, 0) << run.err;
  const Ended ended = place_.run({"replay", "recorded"}, variables());
  EXPECT_EQ(ended.code, 4) << ended.out;
  EXPECT_THAT(ended.err, HasSubstr("contains no record of a finished trial"));
}

TEST_F(Backend, IsEndedWithTheRun) {
  const fs::path seen = place_.folder() / "seen", temporary = place_.folder() / "temporary";
  for (const int signal : {SIGINT, SIGKILL}) {
    fs::remove(seen);
    fs::create_directory(temporary);
    Program program = place_.start({config("[serial, {plain: {fault: silent}}]")},
                                   variables({{"MGCOMPARE_TEST_SEEN", seen.string()}, {"TMPDIR", temporary.string()}}));
    for (int i = 0; i < 2000 && !fs::exists(seen); ++i) usleep(10'000);
    ASSERT_TRUE(fs::exists(seen));
    program.signal(signal);
    const Ended ended = program.wait();
    EXPECT_EQ(ended.code, signal == SIGINT ? 130 : -SIGKILL) << ended.err;
    EXPECT_FALSE(anything_survives());
    if (signal == SIGINT) {
      EXPECT_TRUE(fs::is_empty(temporary)) << "files of the trial are left";
    }
  }
}

}  // namespace
}  // namespace mgcompare
