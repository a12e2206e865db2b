// What messages propose: names of other frameworks, settings in the wrong place, and what was meant by one number.

#include <gmock/gmock.h>

#include "config/idle_settings.h"
#include "config/lone_seed.h"
#include "config/partial_config.h"
#include "plan/statistics_lag.h"
#include "plan/strategy_rows.h"
#include "tests/config/workspace.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Said {
  std::string yaml, hint;
};

class Hints : public Workspace {
 protected:
  std::string refused(const std::string& layer) { return complaint("strategies: [serial]\nlayers:\n  - tanh\n  - " + layer + "\n"); }
};

TEST_F(Hints, LayersOfOtherFrameworks) {
  const std::vector<Said> all = {
      {"Conv2d: {channels: 3, kernel: 3}", "did you mean 'conv'?"},
      {"MaxPool2d: 2", "did you mean 'max_pool'?"},
      {"max_pooling2d: 2", "did you mean 'max_pool'?"},
      {"avg_pool: 2", "did you mean 'average_pool'?"},
      {"BatchNormalization", "did you mean 'batch_norm'?"},
      {"BatchNorm2d", "did you mean 'batch_norm'?"},
      {"GlobalAveragePooling2D", "did you mean 'global_average_pool'?"},
      {"LayerNorm", "did you mean 'layer_norm'?"},
      {"leaky_relu", "take relu or gelu"},
      {"softmax", "leave it out: the loss includes it"},
      {"conv: {filters: 3, kernel: 3}", "did you mean 'channels'?"},
      {"conv: {channels: 3, kernel_size: 3}", "did you mean 'kernel'?"},
      {"conv: {channels: 3, kernel: 3, activation: relu}", "an activation is a layer: write `- relu` after this one"},
      {"conv: {channels: 3, kernel: 3, batch_norm: true}", "it is a layer: write `- batch_norm` after this one"},
      {"conv: {channels: 3, kernel: 3, padding: same}", "write the zeros on each side: (kernel - 1) / 2"},
      {"conv: {channels: 3, kernel: 3, padding: valid}", "write 0"},
      {"dropout: {p: 0.5}", "did you mean 'rate'?"},
      {"batch_norm: true", "write `- batch_norm`"},
  };
  for (const auto& [layer, hint] : all) EXPECT_THAT(refused(layer), HasSubstr("^ " + hint)) << layer;
}

TEST_F(Hints, KeysOfOtherFrameworks) {
  const std::vector<Said> all = {
      {"batch_size: 64", "did you mean 'scaling.batch'?"},
      {"lr: 0.1", "did you mean 'optimizer.learning_rate'?"},
      {"loss: mse", "leave it out: the loss is the cross-entropy"},
      {"lr_scheduler: cosine", "did you mean 'schedule'?"},
      {"validation_split: 0.1", "did you mean 'data.validation_samples'?"},
      {"data: {validation_split: 0.1}", "did you mean 'validation_samples'?"},
      {"optimizer: {kind: AdamW}", "did you mean 'adam'?"},
      {"data: {epochs: 3}", "'epochs' belongs at the top, not in a section"},
  };
  for (const auto& [yaml, hint] : all) EXPECT_THAT(complaint(kGood + yaml + "\n"), HasSubstr("^ " + hint)) << yaml;
}

// Descriptions of plugins have the names that other frameworks use.
TEST_F(Hints, StrategiesOfOtherFrameworks) {
  const auto plugin = [](const char* name, const char* description, const char* file) {
    PluginSummary made;
    made.name = name, made.description = description, made.file = file;
    return made;
  };
  const std::vector<PluginSummary> plugins = {plugin("framework", "modes of one: DDP, eager", "framework/backend.json"),
                                              plugin("sums", "every rank sums all gradients (DDP, All-Reduce)", "strategy_sums.so"),
                                              plugin("local_sgd", "local steps", "strategy_local_sgd.so")};
  const auto hint = [&](const char* name) {
    StrategyConfig strategy;
    strategy.name = name;
    return plugin_problem(strategy, plugins)->hint;
  };
  EXPECT_EQ(hint("ddp"), "did you mean 'sums', \"every rank sums all gradients (DDP, All-Reduce)\"?");
  EXPECT_THAT(hint("allreduce"), HasSubstr("did you mean 'sums'"));
  EXPECT_THAT(hint("eager"), HasSubstr("did you mean 'framework'"));
  EXPECT_EQ(hint("LocalSGD"), "did you mean 'local_sgd'?");
  EXPECT_EQ(hint("fsdp"), "");
  EXPECT_EQ(did_you_mean("k", {"every", "momentum"}), "did you mean 'every'?");
}

TEST_F(Hints, InputsBelongBesideTheirLayer) {
  EXPECT_THAT(refused("add: [tanh1, input]"), HasSubstr("^ write `inputs: [tanh1, input]` beside 'add', on the same level"));
  EXPECT_THAT(refused("add: {inputs: [tanh1, input]}"), AllOf(HasSubstr("'inputs' is not a setting of 'add', but belongs beside it"),
                                                             HasSubstr("^ write `inputs: [tanh1, input]` beside 'add', on the same level")));
  EXPECT_THAT(refused("concat: tanh1"), HasSubstr("^ write `inputs: tanh1` beside 'concat'"));
  EXPECT_THAT(refused("dense: {units: 3, inputs: input}"), HasSubstr("^ write `inputs: input` beside 'dense', on the same level"));
  EXPECT_THAT(refused("dense: {units: 3, name: last}"), HasSubstr("^ write `name: last` beside 'dense', on the same level"));
}

TEST_F(Hints, AListOfNamesIsPrintedOnce) {
  const std::string text = complaint("strategies: [serial]\nlayers: [{dense: {a: 1, b: 2, units: 3}}, {conv: {c: 1, channels: 3, kernel: 3}}]\n");
  const std::string list = "allowed here: units, bias";
  EXPECT_THAT(text, AllOf(HasSubstr("'a' in 'dense'"), HasSubstr("'b' in 'dense'"), HasSubstr(list), HasSubstr("allowed here: channels, ")));
  EXPECT_EQ(text.find(list), text.rfind(list)) << text;
}

TEST_F(Hints, OneSeedIsOneRepeat) {
  const auto remark = [&](const std::string& text, const std::vector<std::string>& overrides = {}) {
    return lone_seed_remark(read(kGood + text, {overrides, false, ""}), overrides);
  };
  EXPECT_EQ(remark("seeds: 3\n"), "`seeds: 3` is one repeat, with the seed 3; `seeds: [1, 2, 3]` are three");
  EXPECT_THAT(remark("seeds: [1, 2]\n", {"seeds=5"}), HasSubstr("`seeds: 5` is one repeat"));
  EXPECT_THAT(remark("when_cpu: {seeds: 4}\n"), HasSubstr("`seeds: 4` is one repeat"));
  for (const char* text : {"", "seeds: 1\n", "seeds: [3]\n", "seeds: [1, 2]\n", "seeds: 3\nmeasure: thorough\n"}) EXPECT_THAT(remark(text), IsEmpty()) << text;
  EXPECT_THAT(remark("seeds: 3\n", {"seeds=[7]"}), IsEmpty());
}

TEST_F(Hints, RunningStatisticsThatLagAreTold) {
  Config config;
  config.model.layers.resize(1);
  config.model.layers[0].type = LayerType::batch_norm;
  config.scaling.batch = {8, 64};
  config.epochs = 3;
  EXPECT_THAT(statistics_lag_warning(config, 1000), HasSubstr("after the 48 steps of a training with batch 64, 62 % of the running statistics"));
  EXPECT_THAT(statistics_lag_warning(config, 10'000), IsEmpty());
  config.scaling.mode = ScalingMode::weak;
  config.scaling.devices.resize(1);
  config.scaling.devices[0].count = 4;
  EXPECT_THAT(statistics_lag_warning(config, 10'000), HasSubstr("with batch 256"));
  EXPECT_THAT(statistics_lag_warning(config, 10'000), HasSubstr("train more epochs, or set its `momentum` to 0.9"));
  config.model.layers[0].momentum = 0.9;
  EXPECT_THAT(statistics_lag_warning(config, 10'000), IsEmpty());
  EXPECT_THAT(statistics_lag_warning(config, 300), ::testing::EndsWith("train more epochs"));
}

TEST_F(Hints, SettingsThatChangeNothingAreTold) {
  const auto remarks = [&](const std::string& text, const std::vector<std::string>& overrides = {}) {
    return idle_setting_remarks(read(kGood + text, {overrides, false, ""}), overrides);
  };
  EXPECT_THAT(remarks("optimizer: {kind: adam, momentum: 0.9, beta1: 0.8}\n"),
              testing::ElementsAre("`optimizer.momentum` is for sgd: with adam it changes nothing; remove it"));
  EXPECT_THAT(remarks("optimizer: {rho: 0.9, epsilon: 0.1}\n"),
              testing::ElementsAre("`optimizer.rho` is for adadelta: with sgd it changes nothing; remove it",
                                   "`optimizer.epsilon` is for adam, adagrad and adadelta: with sgd it changes nothing; remove it"));
  EXPECT_THAT(remarks("schedule: {factor: 0.5, base_batch: 64}\n"),
              testing::ElementsAre("`schedule.factor` is for a step schedule: with a constant schedule it changes nothing; remove it",
                                   "`schedule.base_batch` is for the other batch rules: with `batch_rule: none` it changes nothing; remove it"));
  // One of the variants may use what the config sets.
  EXPECT_THAT(remarks("optimizer: {kind: adam, momentum: 0.9}\nvariants: [{name: plain, set: {optimizer.kind: sgd}}]\n"), IsEmpty());
  EXPECT_THAT(remarks("variants: [{name: slow, set: {schedule.final_rate: 0.01}}]\n"), testing::SizeIs(1));
  const std::string steps = "schedule: {kind: step, at: [2]}\n";
  EXPECT_THAT(remarks(steps + "when_cpu: {schedule.kind: constant}\n"), IsEmpty());
  EXPECT_THAT(remarks(steps, {"schedule.kind=constant"}), IsEmpty());
  EXPECT_THAT(remarks(steps, {"epochs=2"}),
              testing::ElementsAre("`schedule.at` has 2, and the training ends after epoch 2: the learning rate is not changed there"));
  EXPECT_THAT(remarks("schedule: {kind: step, at: [1, 5, 7]}\n", {"epochs=2"}), testing::ElementsAre(testing::StartsWith("`schedule.at` has 5, 7, and")));
  EXPECT_THAT(remarks("variants: [{name: same, set: {epochs: 3}}, {name: other, set: {epochs: 4}}]\n", {"epochs=3"}),
              testing::ElementsAre("variant 'same' changes nothing: it trains as the config without it"));
  for (const char* used : {"", "optimizer: {momentum: 0.9, nesterov: true}\n", "optimizer: {kind: adagrad, epsilon: 0.1}\n", "schedule: {kind: step, at: [2], factor: 0.5}\n",
                           "schedule: {kind: cosine, final_rate: 0.001, batch_rule: linear, base_batch: 64}\n"})
    EXPECT_THAT(remarks(used), IsEmpty()) << used;
}

TEST_F(Hints, MistakesThatOnlyTheProgramSeesAreReportedWithTheOthers) {
  const auto told = [&](const std::string& text) -> std::string {
    int calls = 0;
    const auto further = [&](const Config& config) -> std::vector<Problem> {
      ++calls;
      return {{config.strategies.at(1).place, "there is no strategy '" + config.strategies.at(1).name + "'"}};
    };
    try {
      read_config(write("x.yaml", text), {}, further);
    } catch (const ConfigError& error) {
      return error.what();
    }
    EXPECT_EQ(calls, 0);
    return "";
  };
  EXPECT_THAT(told("layers: [{dense: 10}]\nstrategies: [serial, none]\nepochs: 0\n"),
              testing::ContainsRegex("2:22: error: there is no strategy 'none'(.|\n)*3:9: error: 'epochs' must be(.|\n)*2 errors"));
  EXPECT_EQ(told("layers: [{dense: 10}]\nstrategies: [serial, none]\n"), "");
}

TEST_F(Hints, DataAreNoConfig) {
  const std::string array = std::string("\x93NUMPY\x01\x00", 8) + std::string(100, ' ');
  EXPECT_THAT(complaint(array), AllOf(HasSubstr("is an array of NumPy, not a config"), HasSubstr("`data: {set: npy, path: FOLDER}`")));
  EXPECT_THAT(complaint(array + std::string(2u << 20, 'x')), HasSubstr("is an array of NumPy, not a config"));
  EXPECT_THAT(complaint(std::string(2u << 20, '\0')), HasSubstr("has 2,097,152 bytes; it is a binary file, not a config"));
  EXPECT_THAT(complaint(std::string(2u << 20, 'x')), AllOf(HasSubstr("has 2,097,152 bytes; the limit is 1,048,576"), Not(HasSubstr("binary"))));
}

}  // namespace
}  // namespace mgcompare
