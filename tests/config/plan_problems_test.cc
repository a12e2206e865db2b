// What a plan refuses, warns of and says about the data.

#include "plan/plan.h"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include "tests/config/planning.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TEST_F(Planning, EvaluationsOfATrialHaveALimit) {
  const std::string sums = "strategies: [sums]\n";
  EXPECT_EQ(refused(sums + "epochs: 100000"), "");
  EXPECT_THAT(refused(sums + "epochs: 100001"), AllOf(HasSubstr("x.yaml:1:1: error: 100,001 epochs are too many: the result of a trial has at most 100,000 evaluations"),
                                                       HasSubstr("train fewer epochs"), HasSubstr("1 error")));
  // One is at the end of each epoch.
  EXPECT_THAT(refused(sums + "epochs: 99000\nevaluate: 0.99"), HasSubstr("99,000 epochs with `evaluate: 0.99` are 198,000 evaluations: the result of a trial has at most 100,000"));
  EXPECT_THAT(refused(sums + "epochs: 30000\nevaluate: 0.3"), HasSubstr("are 120,000 evaluations"));
  EXPECT_EQ(refused(sums + "epochs: 10000\nevaluate: 0.1"), "");
  EXPECT_EQ(refused(sums + "epochs: 200\nevaluate: 0.001"), "") << "at most one for each of the 469 steps of an epoch";
  EXPECT_EQ(refused("strategies: [own_pace]\nepochs: 99000\nevaluate: 0.5"), "") << "ranks that run freely are evaluated after epochs";
}

TEST_F(Planning, OptionsAreRefusedAtTheirPlace) {
  EXPECT_THAT(
      refused("strategies: [{sums: {evry: 3}}]"),
      testing::AllOf(HasSubstr("x.yaml:2:22: error: 'evry' of 'sums': unknown option 'evry'"),
                     HasSubstr("did you mean 'every'?"), HasSubstr("its options: every"), HasSubstr("1 error")));
  EXPECT_THAT(refused("strategies: [{sums: {every: x}}]"),
              HasSubstr("x.yaml:2:29: error: 'every' of 'sums': 'x' is not"));
  EXPECT_THAT(refused("strategies: [{sums: {every: 8}}]"), HasSubstr("is too much (at 2 ranks, global batch 128)"));
  EXPECT_EQ(refused("strategies: [{sums: {every: 8}}]\nscaling: {devices: [1, 3]}"), "");  // 3: impossible here
  EXPECT_THAT(refused("strategies: [{sums: {every: 7}}]"),
              HasSubstr("crashed when it was created from its options: signal 11"));
  EXPECT_THAT(plan("strategies: [{sums: {every: 9}}]").warnings, Contains("sums, every: is a lot"));
  EXPECT_THAT(refused("strategies: [summs]"), HasSubstr("did you mean 'sums'?"));
  EXPECT_THAT(refused("strategies: [stale]"), HasSubstr("strategy 'stale' cannot be used: built for an older program"));
  EXPECT_THAT(refused("strategies: [own_pace]\nbatch_norm: sync"), HasSubstr("needs one"));
  EXPECT_EQ(refused("strategies: [own_pace]"), "");
  TableProber gpus(2, 2);
  try {
    make_plan(config("strategies: [cpu_only]"), gpus);
    ADD_FAILURE() << "a strategy for CPUs was planned on GPUs";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("strategy 'cpu_only' does not run on cuda devices, only on cpu"));
  }
  EXPECT_EQ(refused("strategies: [cpu_only]"), "");
}

TEST_F(Planning, WarnsOfWhatWillBeMissing) {
  EXPECT_THAT(plan("strategies: [sums]").warnings, Contains(HasSubstr("efficiency cannot be computed")));
  EXPECT_THAT(plan("strategies: [single, sums]").warnings, SizeIs(0));
  EXPECT_THAT(plan("strategies: [single, cpu_only]").warnings, ElementsAre("/mine/cpu_only.so is passed over"));
  EXPECT_THAT(plan("strategies: [single, pair]").warnings, Contains("pair is left out at 1 rank: it needs at least 2"));
  EXPECT_THAT(rows(plan("strategies: [pair]", 4)), ElementsAre("pair cpu:2 batch 128", "pair cpu:4 batch 128"));
  EXPECT_THAT(plan("strategies: [single, pair]", 1).warnings, Contains(HasSubstr("pair has no row")));
}

TEST_F(Planning, RefusesTooManyTrialsAndImpossibleNetworks) {
  std::string seeds = "[0";
  for (int i = 1; i < 6000; ++i) seeds.append(",").append(std::to_string(i));
  EXPECT_THAT(refused("strategies: [sums]\nseeds: " + seeds + "]"), HasSubstr("more than 10,000 trials"));
  EXPECT_THAT(refused("strategies: [sums]\ndata: {validation_samples: 60000}"), HasSubstr("holds back all"));
  EXPECT_THAT(refused("strategies: [sums]\nplugins: none/here"), HasSubstr("none/here, which does not exist"));
  EXPECT_THAT(refused("strategies: [sums]\nplugins: /proc/self/task"), HasSubstr("/proc/self/task, which has no plugin in it"));
  EXPECT_THAT(refused("strategies: [none, sums]\ndata: {validation_samples: 60000}"), AllOf(HasSubstr("there is no strategy 'none'"), HasSubstr("holds back all")));
  EXPECT_THAT(refused("strategies: [none, {sums: {evry: 3}}]"),
              AllOf(HasSubstr("there is no strategy 'none'"), HasSubstr("did you mean 'every'?"), HasSubstr("2 errors")));
  TableProber probe(2, 0);
  EXPECT_THAT([&] { make_plan(read("layers:\n  - max_pool: 100\n  - dense: 10\nstrategies: [sums]\n"), probe); },
              testing::ThrowsMessage<ConfigError>(
                  AllOf(HasSubstr(":2:5: error: layer 'max_pool1': a window of 100 x 100 does not fit into its input, which is 1 x 28 x 28"),
                        HasSubstr("    2 |   - max_pool: 100\n      |     ^"))));
}

TEST_F(Planning, FollowsTheFormOfTheData) {
  TableProber probe(2, 0);
  probe.data_.spec.shape = {5, 11, 13};
  probe.data_.spec.classes = 7;
  probe.data_.train_samples = 700;
  const auto made = [&](const std::string& layers, const std::string& data = "{}") {
    try {
      return fmt::format("{} trials",
                         make_plan(read("layers: " + layers + "\nstrategies: [sums]\ndata: " + data + "\nscaling: {batch: 1000}\n"), probe).trials.size());
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  const auto warnings = [&] { return make_plan(read("layers: [dense: 7]\nstrategies: [sums]\n"), probe).warnings; };
  EXPECT_THAT(made("[dense: 7]"), HasSubstr("trials"));
  EXPECT_THAT(made("[dense: 10]"), AllOf(HasSubstr("x.yaml:1:10: error"), HasSubstr("the last layer gives 10 but the data has 7 classes")));
  EXPECT_THAT(warnings(), Not(Contains(HasSubstr("transpose"))));
  probe.data_.spec.shape = {32, 24, 3};
  // Also if no window fits into what was read.
  EXPECT_THAT(made("[{max_pool: 4}, dense: 7]"), AllOf(HasSubstr("does not fit into its input, which is 32 x 24 x 3"), HasSubstr("x.transpose(0, 3, 1, 2)")));
  EXPECT_THAT(warnings(),
              Contains(AllOf(HasSubstr("read as 32 channels of 24 x 3"), HasSubstr("3 channels as the last axis"), HasSubstr("x.transpose(0, 3, 1, 2)"))));
  for (const Shape& shape : {Shape{3, 32, 32}, Shape{1, 28, 28}, Shape{3, 3, 3}, Shape{20, 3}, Shape{64, 7, 7}}) {
    probe.data_.spec.shape = shape;
    EXPECT_THAT(warnings(), Not(Contains(HasSubstr("transpose"))));
  }
  probe.data_.spec.shape = {5, 11, 13};
  EXPECT_THAT(made("[{conv: {channels: 3, kernel: 12}}, dense: 7]"), HasSubstr("a window of 12 x 12 does not fit into its input, which is 5 x 11 x 13"));
  EXPECT_THAT(made("[dense: 7]", "{mean: [1, 2, 3]}"),
              HasSubstr("x.yaml:3:14: error: 'data.mean' has 3 values, but the samples are 5 x 11 x 13"));
  EXPECT_THAT(made("[dense: 7]", "{crop: {padding: 11}}"),
              HasSubstr("x.yaml:3:24: error: 'data.crop.padding' is 11, but the images are only 11 x 13 (height x width): use less than 11"));
  EXPECT_THAT(made("[dense: 7]", "{crop: {padding: 10}}"), HasSubstr("trials"));
  probe.data_.spec.classes = 1;
  EXPECT_THAT(made("[dense: 10]"), HasSubstr("the last layer gives 10 but the data has 1 class:"));
  probe.data_.spec.classes = 7;
  probe.data_.spec.shape = {49};
  EXPECT_THAT(made("[{conv: {channels: 3, kernel: 2}}, dense: 7]"), HasSubstr("needs channels x height x width, its input is 49"));
  EXPECT_THAT(made("[dense: 7]", "{flip: true}"), HasSubstr("'data.flip' needs images (channels x height x width), but the samples are 49"));
  for (const char* key : {"scale: 0.5", "mean: 3", "std: 2"}) {
    EXPECT_THAT(made("[{embedding: {units: 3, tokens: 20}}, dense: 7]", fmt::format("{{{}}}", key)), HasSubstr("would change the tokens"));
    EXPECT_THAT(made("[dense: 7]", fmt::format("{{{}}}", key)), HasSubstr("trials"));
  }
  EXPECT_THAT(made("[{embedding: {units: 3, tokens: 20}}, dense: 7]", "{scale: 1}"), HasSubstr("trials"));
  probe.data_.spec.targets = 49;
  EXPECT_THAT(made("[dense: 7]"), HasSubstr("the last layer gives 7 but the data needs 49 x 7, 7 classes at each of 49 positions"));
  probe.data_.spec.classes = 1;
  EXPECT_THAT(made("[dense: 7]"), HasSubstr("needs 49 x 1, 1 class at each of 49 positions"));
  probe.data_ = {mnist_form(), 60'000, 0};
  EXPECT_THAT(made("[dense: 10]"), HasSubstr("x.yaml:3:7: error: the data has no test samples"));
  EXPECT_THAT(made("[dense: 10]", "{validation_samples: 100}"), HasSubstr("trials"));
}

TEST_F(Planning, SaysWhereTheDataAre) {
  TableProber probe(2, 0);
  const auto line = [&](const std::string& data) {
    const std::string text = describe(make_plan(read("layers: [{dense: 10}]\nstrategies: [sums]\ndata: " + data + "\n"), probe));
    return text.substr(text.find("data: "), text.find('\n', text.find("data: ")) - text.find("data: "));
  };
  EXPECT_THAT(line("{set: mnist, fallback: digits}"), HasSubstr("it will be downloaded, or drawn digits take its place)"));
  EXPECT_THAT(line("{set: digits}"), HasSubstr("data: digits (drawn), "));
  const std::string missing = "{set: npy, path: none, fallback: synthetic}";
  EXPECT_THAT(line(missing), AllOf(HasSubstr("data: drawn samples in place of npy ("), HasSubstr("/none), 1 x 28 x 28 uint8")));
  EXPECT_THAT(describe(make_plan(read("layers: [{dense: 10}]\nstrategies: [sums]\ndata: " + missing + "\n"), probe)),
              AllOf(HasSubstr("\nwarning: npy ("), HasSubstr("is not available, so the samples are drawn: accuracies say nothing about it\n")));
  // A network of dense layers trains on both without a word.
  probe.data_.spec.shape = {12, 20};
  const auto plan = [&](const std::string& data) { return describe(make_plan(read("layers: [{dense: 10}]\nstrategies: [sums]\ndata: " + data + "\n"), probe)); };
  EXPECT_THAT(plan("{set: npy, path: .}"), HasSubstr("\na sample is read as 12 steps of time with 20 features each; if the samples are images, "));
  EXPECT_THAT(plan("{set: synthetic, shape: [12, 20], classes: 10, samples: 512}"), Not(HasSubstr("is read as")));
  probe.data_ = {mnist_form(), 60'000, 10'000};
  probe.data_.place = "/data/mnist";
  EXPECT_THAT(line("{validation_samples: 5000}"),
              HasSubstr("data: mnist (/data/mnist), 1 x 28 x 28 uint8, 10 classes, 55,000 training and 5,000 validation samples"));
}

// A folder may have plugins that nobody means; a file that the config names is meant.
TEST_F(Planning, WarnsOfARefusedFileThatTheConfigNames) {
  const std::string file = write("a.so", "hello");
  TableProber probe(2, 0);
  probe.plugins_.push_back({"a.so", "", file, file + " is no plugin"});
  EXPECT_THAT(make_plan(config("strategies: [single]\nplugins: [" + file + "]"), probe).warnings, ElementsAre(file + " is no plugin"));
  EXPECT_THAT(make_plan(config("strategies: [single]"), probe).warnings, SizeIs(0));
}

}  // namespace
}  // namespace mgcompare
