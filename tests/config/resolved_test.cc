// The resolved config, which is stored, sent to workers and shown, must equal what was read.

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/config/workspace.h"
#include "plan/trial.h"

namespace mgcompare {
namespace {

using testing::HasSubstr;

class Resolved : public Workspace {
 protected:
  const std::string full_ =
      "name: full\n"
      "layers:\n"
      "  - conv: {channels: 20, kernel: [5, 3], weights: {uniform: 0.1}}\n"
      "  - {max_pool: 2, name: p}\n"
      "  - {add: ~, inputs: [conv1, p]}\n"
      "  - {dense: 10, name: dense1}\n"
      "data: {scale: 0.1}\n"
      "optimizer: {learning_rate: 0.30000000000000004, weight_decay: 1e-4}\n"
      "schedule: {kind: step, at: [1, 2.5]}\n"
      "seeds: [9007199254740991, 0]\n"
      "scaling: {devices: [cpu:2, 1], batch: [3, 4]}\n"
      "variants:\n"
      "  - {name: 'yes', set: {optimizer.learning_rate: 0.07, scaling.devices: [cpu:1], schedule.kind: constant}}\n"
      "strategies: [serial, {tower: {average: parameters, every: 4, flag: true, word: '12', rate: 0.25, as: 'a: "
      "b'}}]\n";
};

TEST_F(Resolved, YamlReadBackIsEqual) {
  const Config config = read(full_);
  const std::string yaml = resolved_yaml(config);
  const Config again = read(yaml);
  EXPECT_EQ(config_hash(again), config_hash(config)) << yaml;
  EXPECT_EQ(resolved_yaml(again), yaml);
  EXPECT_EQ(again.optimizer.learning_rate, 0.30000000000000004);
  EXPECT_EQ(again.strategies[1].label, "a: b");
  EXPECT_EQ(again.variants[0].name, "yes");
  EXPECT_THAT(
      yaml,
      HasSubstr("  - tower: {as: \"a: b\", average: parameters, every: 4, flag: true, word: \"12\", rate: 0.25}"));
  EXPECT_THAT(yaml, HasSubstr("  beta1: 0.9\n"));
}

TEST_F(Resolved, ShippedConfigsReadBack) {
  for (const auto& entry : std::filesystem::directory_iterator(MGCOMPARE_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".yaml") continue;
    const Config config = read_config(entry.path().string());
    EXPECT_EQ(config_hash(read(resolved_yaml(config))), config_hash(config)) << resolved_yaml(config);
  }
}

TEST_F(Resolved, CountsOfAutomaticDevicesReadBack) {
  const Config config = read("model: " MGCOMPARE_SOURCE_DIR "/configs/models/lenet.yaml\nscaling: {devices: [cpu:1, {auto: [1, 3]}]}\nstrategies: [serial]\n");
  const std::string yaml = resolved_yaml(config);
  EXPECT_THAT(yaml, HasSubstr("  devices:\n    - \"cpu:1\"\n    - {auto: 1}\n    - {auto: 3}\n"));
  EXPECT_EQ(config_hash(read(yaml)), config_hash(config)) << yaml;
  EXPECT_EQ(nlohmann::json(nlohmann::json(config).get<Config>()), nlohmann::json(config));
}

TEST_F(Resolved, JsonReadBackIsEqual) {
  const Config config = read(full_);
  const nlohmann::json json = config;
  const Config again = nlohmann::json::parse(json.dump()).get<Config>();
  EXPECT_EQ(nlohmann::json(again), json);
  EXPECT_EQ(again.path, config.path);
  EXPECT_EQ(again.model.layers[1].place.line, 4);
  for (const OptionConfig& option : again.strategies[1].options)
    EXPECT_EQ(option.quoted, option.key == "word") << option.key;
  EXPECT_THROW(nlohmann::json::parse(R"({"epochs": 0})").get<Config>(), ConfigError);
  nlohmann::json elsewhere = json;
  elsewhere["python"] = "/of/another/machine/python3";
  EXPECT_EQ(elsewhere.get<Config>().python, "/of/another/machine/python3");
  EXPECT_THROW(nlohmann::json::parse(R"([1])").get<Config>(), std::exception);
}

// Whatever the file is called, its config is read again by workers and reports.
TEST_F(Resolved, TheNameOfTheFileIsAName) {
  for (const auto& [file, name] : std::map<std::string, std::string>{{" my run .yaml", "my run"}, {"\u3000.yaml", "experiment"},
                                                                     {std::string(240, 'x') + ".yaml", std::string(200, 'x')}}) {
    const Config config = read_config(write(file, kGood));
    EXPECT_EQ(config.name, name);
    EXPECT_EQ(nlohmann::json::parse(nlohmann::json(config).dump()).get<Config>().name, name);
    EXPECT_EQ(read(resolved_yaml(config)).name, name);
  }
}

// Results of older versions may have labels and names that a config may not have any more.
TEST_F(Resolved, StoredNamesMayBeBlank) {
  nlohmann::json json = read(kGood);
  json["name"] = " ";
  json["strategies"] = {{{"tower", {{"as", " "}}}}};
  const Config config = json.get<Config>();
  EXPECT_EQ(config.name, " ");
  EXPECT_EQ(config.strategies.at(0).label, " ");
}

// The worker and --resume read the config again.
TEST_F(Resolved, QuotedTextStaysText) {
  for (const std::string text : {"nan", ".NaN", "inf", ".infinity", ".5", ".1e9999", "010", "0x1f", "1_000", "true", "plain"}) {
    const Config config = read(full_.substr(0, full_.find("strategies:")) + "strategies: [{tower: {word: \"" + text + "\"}}]\n");
    const Config as_json = nlohmann::json::parse(nlohmann::json(config).dump()).get<Config>(), as_yaml = read(resolved_yaml(config));
    for (const Config& again : {as_json, as_yaml}) EXPECT_EQ(again.strategies.at(0).options.at(0).value, text);
    EXPECT_EQ(config_hash(as_yaml), config_hash(config)) << text;
  }
}

TEST_F(Resolved, TheHashIsAboutMeaning) {
  const std::string hash = config_hash(read(full_));
  EXPECT_EQ(hash.size(), 64u);
  EXPECT_EQ(config_hash(read("# a comment moves every line\n\n" + full_)), hash);
  EXPECT_EQ(config_hash(read_config(write("elsewhere.yaml", full_))), hash);
  EXPECT_EQ(config_hash(read(full_ + "epochs: 12\n")), hash);
  EXPECT_NE(config_hash(read(full_ + "epochs: 13\n")), hash);
  EXPECT_EQ(config_hash(read(full_ + "price_per_device_hour: 2.5\n")), hash) << "changes no trial";
  ConfigSetting setting;
  setting.overrides = {"optimizer.weight_decay=2e-4"};
  EXPECT_NE(config_hash(read(full_, setting)), hash);
}

TEST_F(Resolved, TrialsTravelWhole) {
  Trial trial;
  trial.number = 7;
  trial.block = 2;
  trial.config = apply_variant(read(full_), {});
  trial.strategy = trial.config.strategies[1];
  trial.plugin_file = "/a/b.so";
  trial.devices = 2;
  trial.ranks_per_device = 3;
  trial.scaling = ScalingMode::weak;
  trial.global_batch = 128;
  trial.variant = "v";
  trial.seed = 9007199254740991;
  trial.unavailable = "asked 8, have 2";
  const nlohmann::json json = trial;
  const Trial again = nlohmann::json::parse(json.dump()).get<Trial>();
  EXPECT_EQ(nlohmann::json(again), json);
  EXPECT_EQ(again.seed, 9007199254740991u);
  EXPECT_EQ(again.strategy.options[0].place.column, trial.strategy.options[0].place.column);
  EXPECT_EQ(row_name(again), "a: b cpu:2 x 3 ranks batch 64 per device v");
  EXPECT_THROW(nlohmann::json::parse("{}").get<Trial>(), Error);
  for (const char* key : {"devices", "ranks_per_device", "global_batch", "hosts"})
    for (const nlohmann::json& value : nlohmann::json::parse("[0, -1, 2.5, true, 4611686018427387904, 18446744073709551615]")) {
      nlohmann::json impossible = json;
      impossible[key] = value;
      EXPECT_THROW(impossible.get<Trial>(), Error) << key << " " << value;
    }
  nlohmann::json largest = json;
  largest["devices"] = 4096;
  largest["ranks_per_device"] = 64;
  largest["global_batch"] = std::uint64_t{10'000'000} * 4096;
  largest["hosts"] = 4096;
  EXPECT_EQ(largest.get<Trial>().global_batch, std::uint64_t{10'000'000} * 4096);
  largest["hosts"] = 3;
  EXPECT_THROW(largest.get<Trial>(), Error);
}

TEST_F(Resolved, FolderNamesAreSafe) {
  EXPECT_EQ(config_slug("lenet"), "lenet");
  EXPECT_EQ(config_slug("keras_cnn-2"), "keras_cnn-2");
  for (const std::string name : {"../../x", "/etc/x", "..", "", "a/b", "trailing.", "UPPER", "ünï", "a\nb", "-"}) {
    const std::string slug = config_slug(name);
    EXPECT_THAT(slug, testing::MatchesRegex("[a-z0-9_-]{1,48}")) << name;
    EXPECT_NE(slug, name);
  }
  EXPECT_LE(config_slug(std::string(300, 'x')).size(), 48u);
  EXPECT_NE(config_slug("a/b"), config_slug("a?b"));
}

}  // namespace
}  // namespace mgcompare
