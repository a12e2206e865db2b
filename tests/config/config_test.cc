// Invalid experiments, each with its expected message.

#include "config/config.h"

#include <gmock/gmock.h>

#include "tests/config/workspace.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class Reading : public Workspace {};

struct Wrong {
  std::string yaml;
  std::string told;
};

TEST_F(Reading, TellsWhatIsWrongWhereAndWhatToDo) {
  const std::vector<Wrong> wrong = {
      {"epoch: 3", "x.yaml:3:1: error: unknown key 'epoch'\n    3 | epoch: 3\n      | ^^^^^ did you mean 'epochs'?"},
      {"optimizer: {learning_rat: 3}", "x.yaml:3:13: error: unknown key 'learning_rat' in 'optimizer'"},
      {"optimizer: {learning_rat: 3}", "^^^^^^^^^^^^ did you mean 'learning_rate'?"},
      {"optimizer: {learning_rat: 3}", "allowed here: kind, learning_rate, momentum,"},
      {"learning_rate: 1", "'learning_rate' belongs in 'optimizer'"},
      {"data: {epochs: 1}", "'epochs' belongs at the top, not in a section"},
      {"optimizer.momentum: 0.9", "write optimizer: {momentum: ...}"},
      {"optimizer: sgd", "x.yaml:3:12: error: 'optimizer' must be a section of keys, not 'sgd'"},
      {"optimizer: [sgd]", "'optimizer' must be a section of keys, not a list"},
      {"optimizer: {kind: sdg}", "'optimizer.kind' must be one of sgd, adam, adagrad, adadelta, not 'sdg'"},
      {"optimizer: {kind: sdg}", "^^^ did you mean 'sgd'?"},
      {"optimizer: {kind: [sgd]}", "must be one of sgd, adam, adagrad, adadelta, not a list"},
      {"optimizer: {learning_rate: .nan}", "must be a number from 1e-12 to 1,000,000,000, not '.nan'"},
      {"optimizer: {learning_rate: .nan}", "^^^^ it must be finite"},
      {"optimizer: {learning_rate: -.inf}", "it must be finite"},
      {"optimizer: {learning_rate: nan}", "it must be finite"},
      {"optimizer: {learning_rate: 1e999}", "it is out of range"},
      {"optimizer: {learning_rate: 0}", "must be a number from 1e-12 to 1,000,000,000, not '0'"},
      {"optimizer: {learning_rate: \"0.1\"}", "^^^^^ write it without quotes"},
      {"optimizer: {learning_rate: 0.1x}", "not '0.1x'"},
      {"optimizer: {momentum: 1}", "must be a number from 0 to 0.999999, not '1'"},
      {"optimizer: {momentum: 00.5}", "write it without leading zeros"},
      {"optimizer: {nesterov: yes}", "'optimizer.nesterov' must be true or false, not 'yes'"},
      {"optimizer: {nesterov: yes}", "^^^ write true"},
      {"optimizer: {nesterov: Off}", "^^^ write false"},
      {"optimizer: {nesterov: true}", "Nesterov momentum needs a momentum above 0"},
      {"epochs: 010", "^^^ write it without leading zeros"},
      {"epochs: 0x10", "^^^^ write it as a decimal number"},
      {"epochs: 1e1", "^^^ write 10"},
      {"epochs: 10.0", "^^^^ write 10"},
      {"epochs: 1_0", "^^^ write it without underscores"},
      {"epochs: 0", "'epochs' must be a whole number from 1 to 1,000,000, not '0'"},
      {"epochs: -1", "not '-1'"},
      {"epochs: 1.5", "not '1.5'"},
      {"epochs: 99999999999999999999999", "not '99999999999999999999999'"},
      {"epochs: {a: 1}", "not a section of keys"},
      {"target_accuracy: 98.5", "must be a number from 0 to 1, not '98.5'"},
      {"seeds: []", "'seeds' is an empty list"},
      {"seeds: [1, 2, 1]", "x.yaml:3:15: error: 1 is given twice in 'seeds'"},
      {"scaling: {batch: [64, x]}", "x.yaml:3:23: error: 'scaling.batch'"},
      {"scaling: {batch: 0}", "not '0'"},
      {"scaling: {mode: week}", "did you mean 'weak'?"},
      {"scaling: {devices: [gpu:2]}", "^^^^^ did you mean 'cuda:2'?"},
      {"scaling: {devices: cdua:2}", "did you mean 'cuda:2'?"},
      {"scaling: {devices: 0}", "counts from 1 to 4096 such as 2, cpu:2, cuda:4 or 2x4, not '0'"},
      {"scaling: {devices: -2}", "not '-2'"},
      {"scaling: {devices: 'cpu:'}", "not 'cpu:'"},
      {"scaling: {devices: auto:2}", "not 'auto:2'"},
      {"scaling: {devices: []}", "'scaling.devices' is an empty list"},
      {"scaling: {devices: [1, 1]}", "1 is given twice in 'scaling.devices'"},
      {"scaling: {devices: {auto: []}}", "'auto' of 'scaling.devices' is an empty list"},
      {"scaling: {devices: {auto: [1, 1]}}", "1 is given twice in 'scaling.devices'"},
      {"scaling: {devices: {auto: [0]}}", "counts from 1 to 4096"},
      {"scaling: {devices: {auto: [cpu:2]}}", "leave the kind out: auto chooses it"},
      {"scaling: {devices: {auto: {a: 1}}}", "not a section of keys"},
      {"scaling: {devices: {present: [1]}}", "not a section of keys"},
      {"schedule: {kind: step}", "a step schedule needs the epochs of its steps"},
      {"schedule: {kind: step, at: [5, 3]}", "'schedule.at' must be ascending"},
      {"variants: {a: 1}", "'variants' must be a list, not a section of keys"},
      {"variants: [{set: {epochs: 3}}]", "a variant needs a name"},
      {"variants: [{name: a}]", "variant 'a' sets nothing"},
      {"variants: [{name: a, sett: 3, set: {epochs: 3}}]", "did you mean 'set'?"},
      {"variants: [{name: base, set: {epochs: 3}}]", "the name 'base' is taken"},
      {"variants: [{name: a, set: {epochs: 0}}]", "x.yaml:3:36: error: 'epochs' must be"},
      {"variants: [{name: a, set: {optimizer.momentun: 0}}]", "did you mean 'optimizer.momentum'?"},
      {"variants: [{name: a, set: {learning_rate: 0}}]", "did you mean 'optimizer.learning_rate'?"},
      {"variants: [{name: a, set: {strategies: [x]}}]", "'strategies' cannot be set in a variant"},
      {"variants: [{name: a, set: {optimizer.momentum: 0, optimizer: {momentum: 0.9}}}]", "key 'optimizer.momentum' is given twice"},
      {"when_cpu: {measure: quick, measure.level: thorough}", "key 'measure.level' is given twice"},
      {"variants: [{name: a, set: {optimizer: 3}}]", "'optimizer' must be a section of keys, not '3'"},
      {"when_cpu: {epochs: 0}", "x.yaml:3:20: error: 'epochs' must be"},
      {"when_cpu: {epoch: 1}", "x.yaml:3:12: error: unknown key 'epoch' in 'when_cpu'"},
      {"when_cpu: {when_cpu: {epochs: 1}}", "'when_cpu' cannot be set in 'when_cpu'"},
      {"when_cpu: 3", "'when_cpu' must be a section of keys, not '3'"},
      {"plugins: {a: b}", "'plugins' must be a text or a list of texts"},
      {"model: [lenet]", "'model' must be a network's name, not a list"},
      {"model: {layers: [{dense: 10}]}", "write the layers of an inline network under `layers:`"},
  };
  for (const Wrong& one : wrong) {
    EXPECT_THAT(complaint(kGood + one.yaml + "\n"), HasSubstr(one.told)) << one.yaml;
  }
}

TEST_F(Reading, TellsWhatIsWrongWithStrategies) {
  const std::vector<Wrong> wrong = {
      {"epochs: 1", "'strategies' is missing"},
      {"strategies: []", "'strategies' must be a list of strategies, not an empty list"},
      {"strategies: serial", "'strategies' must be a list of strategies, not 'serial'"},
      {"strategies: [[a]]", "a strategy is a name, or a name with options, not a list"},
      {"strategies: ['a b']", "'a b' cannot be a strategy's name"},
      {"strategies: [../x]", "'../x' cannot be a strategy's name"},
      {"strategies: [a, a]", "two strategies are called 'a'"},
      {"strategies:\n  - tower:\n    every: 4", "x.yaml:4:5: error: 'every' is on the same level as 'tower'"},
      {"strategies: [{tower: 3}]", "the options of 'tower' are keys with values, not '3'"},
      {"strategies: [{tower: {every: [3]}}]", "'every' of 'tower' must be a single value, not a list"},
      {"strategies: [{tower: {every: 010}}]", "'every' of 'tower' cannot be '010'"},
      {"strategies: [{tower: {every: nan}}]", "'every' of 'tower' cannot be 'nan'"},
      {"strategies: [{tower: {every: nan}}]", "it must be finite; if it is a text, write it in quotes"},
      {"strategies: [{tower: {rate: .inf}}]", "it must be finite"},
      {"strategies: [{tower: {every: 1, every: 2}}]", "key 'every' is given twice"},
      {"strategies: [{tower: {as: ''}}]", "a label has 1 to 80 characters"},
      {"strategies: [{tower: {as: ' '}}]", "x.yaml:2:27: error: a label has 1 to 80 characters, and neither begins nor ends with a blank"},
      {"strategies: [{tower: {as: 'tower '}}]", "neither begins nor ends with a blank"},
      {"strategies: [{tower: {as: \"\\u3000\"}}]", "neither begins nor ends with a blank"},
      {"strategies: [a]\nname: ' '", "x.yaml:3:7: error: 'name' must be text of 1 to 200 characters that neither begins nor ends with a blank, not ' '"},
      {"strategies: [a]\nname: " + std::string(300, 'n'), "'name' must be text of 1 to 200 characters"},
      {"strategies: [a]\nmodel: ' '", "a name is a text of 1 to 200 characters that neither begins"},
      {"strategies: [a]\nvariants: [{name: ' ', set: {epochs: 2}}]", "x.yaml:3:19: error: a variant needs a name of 1 to 80 characters"},
  };
  for (const Wrong& one : wrong) {
    EXPECT_THAT(complaint("layers: [{dense: 10}]\n" + one.yaml + "\n"), HasSubstr(one.told)) << one.yaml;
  }
}

TEST_F(Reading, TellsAllErrorsInTheOrderOfTheFile) {
  const std::string text = complaint("epochs: 0\nlayers: [{dense: 10}]\nstrategis: [a]\noptimizer: {kind: x}\n");
  EXPECT_THAT(text, testing::EndsWith("4 errors"));
  EXPECT_LT(text.find("x.yaml:1:9"), text.find("x.yaml:3:1"));
  EXPECT_LT(text.find("x.yaml:3:1"), text.find("x.yaml:4:19"));
}

TEST_F(Reading, FillsInDefaultsAndTakesEmptyForMissing) {
  const Config config = read(kGood + "epochs:\noptimizer:\nschedule: {kind: ~}\nscaling: {devices: null}\n");
  EXPECT_EQ(config.epochs, 12u);
  EXPECT_EQ(config.optimizer.learning_rate, 0.05);
  EXPECT_EQ(config.schedule.kind, ScheduleKind::constant);
  EXPECT_TRUE(config.scaling.automatic);
  EXPECT_EQ(config.name, "x");
  EXPECT_EQ(config.model.name, "x");
}

TEST_F(Reading, ReadsEveryForm) {
  const Config config = read(
      "name: Mine\n"
      "layers: [{dense: 10}]\n"
      "data: {set: digits, on: host, train_samples: 100, scale: 1}\n"
      "optimizer: {kind: adam, learning_rate: 1e-3, beta1: 0.8}\n"
      "schedule: {kind: step, at: 3}\n"
      "seeds: 7\n"
      "scaling: {mode: weak, devices: [cpu:2, 1, cuda:4], batch: [64, 512], ranks_per_device: 2}\n"
      "numerics: {precision: tf32, deterministic: true}\n"
      "plugins: mine\n"
      "strategies:\n"
      "  - serial\n"
      "  - tower: {average: parameters, every: 4, flag: 'yes', none: ~, as: other}\n"
      "  - tower:\n"
      "variants:\n"
      "  - {name: fast, set: {optimizer.learning_rate: 0.07, scaling: {batch: [1, 2]}}}\n");
  EXPECT_EQ(config.name, "Mine");
  EXPECT_EQ(config.data.set, DataSource::digits);
  EXPECT_EQ(config.data.on, DataLocation::host);
  EXPECT_EQ(config.data.train_samples, 100u);
  EXPECT_EQ(config.data.prepare.scale, 1);
  EXPECT_EQ(config.optimizer.learning_rate, 1e-3);
  EXPECT_EQ(config.optimizer.beta1, 0.8);
  EXPECT_THAT(config.schedule.at, ElementsAre(3));
  EXPECT_THAT(config.seeds, ElementsAre(7u));
  EXPECT_FALSE(config.scaling.automatic);
  ASSERT_THAT(config.scaling.devices, SizeIs(3));
  EXPECT_EQ(config.scaling.devices[0].kind, "cpu");
  EXPECT_EQ(config.scaling.devices[1].kind, "auto");
  EXPECT_EQ(config.scaling.devices[2].count, 4u);
  EXPECT_THAT(config.scaling.batch, ElementsAre(64u, 512u));
  EXPECT_EQ(config.scaling.ranks_per_device, 2u);
  EXPECT_EQ(config.precision, Precision::tf32);
  EXPECT_TRUE(config.deterministic);
  EXPECT_THAT(config.plugin_paths, ElementsAre((folder_ / "mine").string()));
  ASSERT_THAT(config.strategies, SizeIs(3));
  const StrategyConfig& tower = config.strategies[1];
  EXPECT_EQ(tower.label, "other");
  ASSERT_THAT(tower.options, SizeIs(3));
  EXPECT_EQ(tower.options[1].key, "every");
  EXPECT_EQ(tower.options[1].value, "4");
  EXPECT_EQ(tower.options[1].place.line, 12);
  EXPECT_EQ(tower.options[1].place.column, 41);
  EXPECT_TRUE(tower.options[2].quoted);
  EXPECT_EQ(config.strategies[2].label, "tower");
  ASSERT_THAT(config.variants, SizeIs(1));
  EXPECT_EQ(config.variants[0].overrides.at("optimizer.learning_rate"), "0.07");
  const Config fast = apply_variant(config, config.variants[0]);
  EXPECT_EQ(fast.optimizer.learning_rate, 0.07);
  EXPECT_EQ(fast.optimizer.beta1, 0.8);
  EXPECT_THAT(fast.scaling.batch, ElementsAre(1u, 2u));
  EXPECT_THAT(fast.variants, SizeIs(0));
}

TEST_F(Reading, OverridesAreCheckedLikeTheFile) {
  ConfigSetting setting;
  setting.overrides = {"epochs=3",   "seeds=[4, 5]", "optimizer.momentum=0.5", "scaling={batch: 32}",
                       "name=other", "epochs=4"};
  const Config config = read(kGood + "epochs: 9\n", setting);
  EXPECT_EQ(config.epochs, 4u);
  EXPECT_THAT(config.seeds, ElementsAre(4u, 5u));
  EXPECT_EQ(config.optimizer.momentum, 0.5);
  EXPECT_THAT(config.scaling.batch, ElementsAre(32u));
  EXPECT_EQ(config.name, "other");

  const std::vector<Wrong> wrong = {
      {"epoch=3", "--set epoch=3: error: unknown key 'epoch' in an override; did you mean 'epochs'?"},
      {"optimizer.lr=3", "did you mean 'optimizer.learning_rate'?"},
      {"schedule.milestones=3", "did you mean 'schedule.at'?"},
      {"epochs=0", "--set epochs=0: error: 'epochs' must be a whole number from 1 to 1,000,000, not '0'"},
      {"epochs", "--set epochs: error: an override is KEY=VALUE"},
      {"=3", "an override is KEY=VALUE"},
      {"seeds=[1", "--set seeds=[1: error: this is not YAML"},
      {"optimizer=3", "'optimizer' must be a section of keys, not '3'"},
      {"seeds=&a [*a]", "aliases (*name) are not supported"},
  };
  for (const Wrong& one : wrong) {
    setting.overrides = {one.yaml};
    EXPECT_THAT(complaint(kGood, setting), HasSubstr(one.told)) << one.yaml;
  }
}

TEST_F(Reading, CutsDownWhereNoGpuIsUsed) {
  const std::string text = kGood + "epochs: 9\nwhen_cpu: {epochs: 2, data: {train_samples: 5}, seeds: [1]}\n";
  const Config cpu = read(text);
  EXPECT_TRUE(cpu.cut_down_for_cpu);
  EXPECT_EQ(cpu.epochs, 2u);
  EXPECT_EQ(cpu.data.train_samples, 5u);

  ConfigSetting gpu;
  gpu.gpu = true;
  EXPECT_FALSE(read(text, gpu).cut_down_for_cpu);
  EXPECT_EQ(read(text, gpu).epochs, 9u);
  EXPECT_TRUE(read(text + "scaling: {devices: cpu:2}\n", gpu).cut_down_for_cpu);
  EXPECT_FALSE(read(text + "scaling: {devices: [cpu:2, 1]}\n", gpu).cut_down_for_cpu);
  gpu.overrides = {"scaling.devices=cpu:1"};
  EXPECT_TRUE(read(text, gpu).cut_down_for_cpu);

  ConfigSetting said;
  said.overrides = {"epochs=7"};
  EXPECT_EQ(read(text, said).epochs, 7u);
  EXPECT_FALSE(read(kGood).cut_down_for_cpu);
}

TEST_F(Reading, ShippedConfigsAreRight) {
  ConfigSetting gpu;
  gpu.gpu = true;
  for (const auto& entry : std::filesystem::directory_iterator(MGCOMPARE_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string path = entry.path().string();
    EXPECT_EQ(complaint_of(path), "");
    EXPECT_EQ(complaint_of(path, gpu), "");
  }
  for (const std::string name : {"lenet", "mlp", "keras_cnn"}) {
    const std::string path = MGCOMPARE_SOURCE_DIR "/configs/" + name + ".yaml";
    // No row of them is unavailable on a machine with fewer devices.
    const ScalingConfig scaling = read_config(path).scaling;
    EXPECT_TRUE(scaling.automatic || std::all_of(scaling.devices.begin(), scaling.devices.end(), [](const auto& each) { return each.if_present; }));
    EXPECT_TRUE(read_config(path).cut_down_for_cpu);
    EXPECT_EQ(read_config(path).model.name, name);
  }
}

}  // namespace
}  // namespace mgcompare
