// `mgcompare verify` as a user calls it. tests/training/verify_test.cc tests the checks themselves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "rig.h"

namespace mgcompare {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class VerifyCommand : public CommandTest {
 protected:
  std::vector<std::string> arguments(const std::string& strategies, std::vector<std::string> more) const {
    const std::string config = place_.write("verified.yaml", small_config("strategies: [" + strategies + "]\n"));
    // Each worker that is started draws the data: all digits would take longer than the trainings.
    more.insert(more.begin(), {"verify", "--quick", config, "--set", "data.set=synthetic", "--set", "data.shape=[1, 8, 8]", "--set", "data.classes=10",
                               "--set", "data.samples=1024"});
    return more;
  }
  Ended verify(const std::string& strategies, const std::vector<std::string>& more) const { return place_.run(arguments(strategies, more)); }
};

const std::vector<std::string> kCalls = {"construct", "traits", "start", "step", "settle", "save", "restore"};

// The rows of these labels only: without those that have the defaults.
std::string only_liars(const std::string& how) {
  std::string only = "as=serial";
  for (const std::string& call : kCalls) only += ",as=" + how + " in " + call;
  return only;
}

std::string liars(const std::string& how) {
  std::string rows;
  for (const std::string& call : kCalls)
    rows += "{liar: {how: " + how + ", where: " + call + ", step: 5, as: " + how + " in " + call + "}}, ";
  return rows;
}

// Where a call is made first. Others are made at places that depend on the seed.
const std::map<std::string, std::string> kPlaces = {{"construct", "before the trial began"}, {"traits", "before the trial began"},
                                                    {"start", "in setup"}, {"step", "in step 6 of epoch 1 (training)"},
                                                    {"save", "in checkpoint of epoch "}, {"restore", "in setup"}};

// Each call of a plugin ends or blocks its worker once. All are failed checks of their rows, and the last row is checked.
void expect_failures(const Ended& ended, const std::string& how, const std::string& cause) {
  EXPECT_EQ(ended.code, 1) << ended.err;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json.at("passed"), false);
  std::map<std::string, nlohmann::json> rows;
  for (const nlohmann::json& row : json.at("strategies")) rows[row.at("strategy").get<std::string>()] = row;
  for (const std::string& call : kCalls) {
    const std::string label = how + " in " + call;
    ASSERT_TRUE(rows.contains(label)) << label;
    EXPECT_EQ(rows[label].at("verdict"), "FAILED") << label;
    for (const nlohmann::json& finding : json.at("findings")) {
      if (finding.at("strategy") != label || finding.at("verdict") != "FAILED") continue;
      const auto place = kPlaces.find(call);
      EXPECT_THAT(finding.at("figure").get<std::string>(), HasSubstr(place == kPlaces.end() ? cause : cause + " " + place->second)) << label;
    }
  }
  EXPECT_EQ(rows["serial"].at("verdict"), "ok");
  EXPECT_FALSE(anything_survives());
}

TEST_F(VerifyCommand, ACrashInAnyCallIsAFailedCheckAndTheOthersAreMade) {
  const Ended ended = verify(liars("crash") + "serial", {"--json", "--only", only_liars("crash"), "--seed", "3"});
  expect_failures(ended, "crash", "SIGSEGV");
}

TEST_F(VerifyCommand, ADeadlockInAnyCallIsAFailedCheckAndTheOthersAreMade) {
  // A step takes milliseconds, also with many others on the machine.
  const Ended ended = verify(liars("deadlock") + "serial", {"--json", "--only", only_liars("deadlock"), "--seed", "3", "--set", "measure.progress_limit=1"});
  expect_failures(ended, "deadlock", "no progress for 1 s");
}

// In one process it would pass every check.
TEST_F(VerifyCommand, WhatDependsOnTheProcessShowsInAnother) {
  const Ended ended = verify("{liar: {how: noise of the process, approximate: true, as: noisy}}, "
                             "{liar: {how: saves an address, approximate: true, as: pointing}}, {liar: {how: nothing, as: honest}}",
                             {"--seed", "3", "--only", "strategy=noisy,strategy=pointing,strategy=honest"});
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, ContainsRegex("FAILED +noisy .*another process trains the same weights: differs by"));
  EXPECT_THAT(ended.out, ContainsRegex("\nFAILED +noisy +[0-9]+ passed, 1 failed"));
  EXPECT_THAT(ended.out, ContainsRegex("ok +pointing .*another process trains the same weights: the same bits"));
  EXPECT_THAT(ended.out, ContainsRegex("\nFAILED +pointing +[0-9]+ passed, 1 failed"));
  EXPECT_THAT(ended.out, ContainsRegex("ok +honest .*another process resumes its checkpoint and ends with the same weights: the same bits"));
}

TEST_F(VerifyCommand, WhatAProcessKeepsOfItsFirstTrainingShowsInAnother) {
  const Ended ended = verify("{liar: {how: freezes a draw, approximate: true, as: drawn}}, "
                             "{liar: {how: freezes an option, step: 3, approximate: true, as: early}}, "
                             "{liar: {how: freezes an option, step: 20, approximate: true, as: late}}",
                             {"--seed", "3", "--only", "as=drawn,as=early,as=late"});
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, ContainsRegex("FAILED +drawn .*another process trains the same weights: differs by"));
  EXPECT_THAT(ended.out, ContainsRegex("FAILED +late .*another process trains the same weights: differs by"));
}

// A run trains all networks in one process.
TEST_F(VerifyCommand, WhatAProcessKeepsOfAnotherNetworkShows) {
  const std::string config = place_.write("networks.yaml", R"(
models: [{name: small, layers: [{dense: 10}]}, {name: large, layers: [{dense: 12}, tanh, {dense: 10}]}]
data: {set: synthetic, shape: [1, 8, 8], classes: 10, samples: 1024}
strategies: [{occasional: {how: knows one network, as: knowing}}, {occasional: {how: nothing, as: honest}}]
)");
  const Ended ended = place_.run({"verify", "--quick", config, "--seed", "3", "--only", "as=knowing,as=honest"});
  EXPECT_EQ(ended.code, 1) << ended.err;
  std::size_t failed = 0;
  for (std::size_t at = 0; (at = ended.out.find("FAILED   knowing", at)) != std::string::npos; ++at) ++failed;
  EXPECT_THAT(ended.out, ContainsRegex("FAILED +knowing .*another process trains the same weights: differs by"));
  EXPECT_GE(failed, 2u) << "with each of the networks\n" << ended.out;
  EXPECT_THAT(ended.out, Not(ContainsRegex("FAILED +honest")));
}

// They are equal up to rounding only.
TEST_F(VerifyCommand, SumsInAnyOrderPassInAnotherProcess) {
  const Ended ended = verify("shares", {"--seed", "3", "--only", "as=shares"});
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, ContainsRegex("ok +shares .*another process resumes its checkpoint and ends with the same weights: differs by"));
}

TEST_F(VerifyCommand, TrainsOnTheNumbersOfRanksOfTheConfig) {
  const Ended ended = verify("{shares: {how: five of six}}", {"--seed", "3", "--only", "as=shares", "--set", "scaling.devices=[2]", "--set",
                                                            "scaling.ranks_per_device=3"});
  EXPECT_EQ(ended.code, 1) << ended.out << ended.err;
  EXPECT_THAT(ended.out, ContainsRegex("FAILED +shares .*6 .*equals one device on the global batch"));
}

// Otherwise a check that was meant for GPUs would pass where there are none.
TEST_F(VerifyCommand, RefusesAConfigThatListsGpusOnlyWhereThereIsNone) {
  const auto on = [&](const char* devices) {
    return verify("serial", {"--only", "as=serial", "-q", "--set", std::string("scaling.devices=") + devices});
  };
  if (place_.run({"devices"}).out.find("cuda:0") != std::string::npos) GTEST_SKIP() << "this machine has a GPU";
  const Ended refused = on("[cuda:2]");
  EXPECT_EQ(refused.code, 4) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("scaling.devices lists GPUs only"));
  const Ended verified = on("[cuda:2, cpu:1]");
  EXPECT_EQ(verified.code, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("on cpu devices"));
}

// Nothing has failed, but the checks are not complete.
TEST_F(VerifyCommand, SaysThatItWasStopped) {
  Program program = place_.start(arguments("serial, {liar: {how: deadlock, where: step, step: 5, as: stuck}}", {"--only", "as=serial,as=stuck"}));
  ASSERT_TRUE(program.says("stuck: strategy ", 100));
  program.signal(SIGINT);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_THAT(ended.out, ContainsRegex("\nstopped before the end: [0-9]+ check"));
  EXPECT_THAT(ended.err, HasSubstr("the remaining checks and strategies were not made"));
}

TEST_F(VerifyCommand, APluginThatTakesAllMemoryFails) {
  const Ended ended = verify("{misbehave: {how: hog}}, replicated", {"--only", "as=misbehave,as=replicated", "--seed", "3",
                                                                    "--set", "measure.memory_limit=0.5"});
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("\nFAILED   misbehave "));
  EXPECT_THAT(ended.out, HasSubstr("no more memory"));
  EXPECT_THAT(ended.out, HasSubstr("\nok       replicated "));
}

// The checkpoints of verify cannot be written then, but the disk is not full.
TEST_F(VerifyCommand, APluginThatForbidsFilesFails) {
  const Ended ended = verify("{misbehave: {how: no files}}, replicated", {"--only", "as=misbehave,as=replicated", "--seed", "3"});
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("\nFAILED   misbehave "));
  EXPECT_THAT(ended.out, HasSubstr("\nok       replicated "));
}

TEST_F(VerifyCommand, HasOneSummaryLineForEachRowAndPrintsItsSeed) {
  const Ended ended = verify("{tower: {average: parameters, every: 2}}", {"-q", "--only", "strategy=tower", "--seed", "77"});
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("with seed 77 (--seed 77 repeats this)"));
  EXPECT_THAT(ended.out, HasSubstr("\nok       tower "));
  EXPECT_THAT(ended.out, HasSubstr("\nok       tower (defaults) ")) << "options of the config do not replace the defaults";
  EXPECT_THAT(ended.out, HasSubstr(" 0 failed, "));
  EXPECT_THAT(ended.out, Not(HasSubstr("replicated")));
  EXPECT_EQ(std::count(ended.out.begin(), ended.out.end(), '\n'), 6) << ended.out;
}

TEST_F(VerifyCommand, SaysQuietlyWhyItSkips) {
  const Ended ended = verify("{pytorch: {mode: eager}}", {"-q", "--quick", "--only", "as=pytorch", "--seed", "3", "--set", "python=/bin/false"});
  EXPECT_THAT(ended.out, HasSubstr("\nskipped  runs: ")) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("\n1 check passed, 0 failed")) << ended.out << ended.err;
}

// A strategy may be wrong where a variant has another optimiser. Other learning rates and batches would be verified twice.
TEST_F(VerifyCommand, ChecksVariantsThatTrainSomethingElse) {
  const std::string variants = "{occasional: {how: scales with adagrad}}]\nvariants: [{name: slow, set: {optimizer.learning_rate: 0.01, scaling.batch: 16}}, "
                               "{name: other, set: {optimizer.kind: adagrad}}";
  const Ended ended = verify(variants, {"--json", "--seed", "3", "--only", "as=occasional"});
  EXPECT_EQ(ended.code, 1) << ended.err;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  ASSERT_EQ(json.at("variants").size(), 2u);
  EXPECT_EQ(json["variants"][0].at("variant"), "");
  EXPECT_EQ(json["variants"][0].at("passed"), true);
  EXPECT_EQ(json["variants"][1].at("variant"), "other");
  EXPECT_EQ(json["variants"][1].at("passed"), false);
  const Ended text = verify(variants, {"--seed", "3", "--only", "as=occasional", "-q"});
  EXPECT_THAT(text.out, HasSubstr("\nvariant other\n"));
}

TEST_F(VerifyCommand, DrawsItsSeed) {
  const auto seed_of = [&] { return nlohmann::json::parse(verify("serial", {"--json", "--only", "as=serial"}).out).at("seed").get<int>(); };
  EXPECT_NE(seed_of(), seed_of());
}

TEST_F(VerifyCommand, AnUnknownStrategyHasItsPlace) {
  const Ended ended = verify("serial, towr", {});
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("there is no strategy 'towr'"));
  EXPECT_THAT(ended.err, HasSubstr("did you mean 'tower'?"));
}

TEST_F(VerifyCommand, AnUnknownRowIsAUsageError) {
  const Ended ended = verify("serial", {"--only", "strategy=towr"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("no row has strategy 'towr'"));
  EXPECT_EQ(verify("serial", {"--only", "devices=2"}).code, 2);
}

}  // namespace
}  // namespace mgcompare
