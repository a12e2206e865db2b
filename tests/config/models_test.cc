// Several networks in one experiment: `models:`, its plan, and the stored form.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "plan/plan.h"
#include "plan/version.h"
#include "tests/config/planning.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class Models : public Planning {
 protected:
  Models() {
    write("models/small.yaml", "layers: [{dense: 10}]\n");
    write("models/wide.yaml", "layers: [{dense: 500}, tanh, {dense: 10}]\n");
  }
  Plan plan(const std::string& text, std::size_t cores = 2) {
    TableProber probe(cores, 0);
    return make_plan(read(text + "\n"), probe);
  }
  static std::vector<std::string> names(const Config& config) {
    std::vector<std::string> all;
    for (const ModelConfig& model : networks_of(config)) all.push_back(model.name);
    return all;
  }
};

const std::string kTwoModels = "models: [small, models/wide.yaml]\nstrategies: [single, precise]\nscaling: {devices: [1, 2], batch: 64}\n";

TEST_F(Models, AreNamesPathsOrLayers) {
  const Config config = read("models: [small, models/wide.yaml, {name: mine, layers: [{dense: 20}, {dense: 10}]}]\nstrategies: [a]\n");
  EXPECT_THAT(names(config), ElementsAre("small", "wide", "mine"));
  ASSERT_THAT(config.models, SizeIs(3));
  EXPECT_THAT(config.models[1].layers, SizeIs(3));
  EXPECT_THAT(config.models[2].layers, SizeIs(2));
}

TEST_F(Models, OneIsAnExperimentWithOneNetwork) {
  const Config one = read("models: [small]\nstrategies: [a]\n"), plain = read("model: small\nstrategies: [a]\n");
  EXPECT_THAT(one.models, IsEmpty());
  EXPECT_EQ(config_hash(one), config_hash(plain));
}

TEST_F(Models, MistakesHaveAPlace) {
  const struct {
    const char* yaml;
    const char* told;
  } wrong[] = {
      {"model: small\nmodels: [small, wide]", "x.yaml:2:9: error: 'models' and 'model' both give the network"},
      {"layers: [{dense: 10}]\nmodels: [small]", "x.yaml:2:9: error: 'models' and 'layers' both give the network"},
      {"models: [small, wide, small]", "x.yaml:1:23: error: two networks are called 'small'"},
      {"models: [small, models/small.yaml]", "x.yaml:1:17: error: two networks are called 'small'"},
      {"models: small", "x.yaml:1:9: error: 'models' must be a list of networks, not 'small'"},
      {"models: []", "'models' must be a list of networks"},
      {"models: [smal]", "did you mean 'small'?"},
      {"models: [[small]]", "x.yaml:1:10: error: a network is a name, a path or {name: X, layers: [...]}, not a list"},
      {"models: [{name: x}]", "a network is a name, a path or"},
      {"models: [{name: x, layers: [{dense: 10}], layer: 3}]", "did you mean 'layers'?"},
      {"models: [{name: x, layers: [{dens: 10}]}]", "did you mean 'dense'?"},
      {"model: [small, wide]", "list several networks under `models:`"},
      {"models: [small, wide]\nvariants: [{name: v, set: {models: [wide]}}]", "'models' cannot be set in a variant"},
  };
  for (const auto& one : wrong) EXPECT_THAT(complaint(std::string(one.yaml) + "\nstrategies: [a]\n"), HasSubstr(one.told)) << one.yaml;
}

TEST_F(Models, OfTheCommandLineAndOfWhenCpuReplaceOneAnother) {
  ConfigSetting setting;
  setting.overrides = {"model=wide"};
  EXPECT_THAT(names(read("models: [small, wide]\nstrategies: [a]\n", setting)), ElementsAre("wide"));
  setting.overrides = {"models=[wide, small]"};
  EXPECT_THAT(names(read("model: small\nstrategies: [a]\n", setting)), ElementsAre("wide", "small"));
  const std::string cut = "models: [small, wide]\nstrategies: [a]\nwhen_cpu: {models: [small]}\n";
  EXPECT_THAT(names(read(cut)), ElementsAre("small"));
  setting.overrides = {};
  setting.gpu = true;
  EXPECT_THAT(names(read(cut, setting)), ElementsAre("small", "wide"));
}

TEST_F(Models, AreStoredWithTheirLayers) {
  const Config config = read(kTwoModels + "variants: [{name: v, set: {epochs: 3}}]\n");
  const nlohmann::json stored = config;
  EXPECT_FALSE(stored.contains("layers") || stored.contains("model"));
  const Config again = stored.get<Config>();
  EXPECT_THAT(names(again), ElementsAre("small", "wide"));
  EXPECT_EQ(nlohmann::json(again), stored);
  EXPECT_EQ(config_hash(again), config_hash(config));
  const Config resolved = read(resolved_yaml(config));
  EXPECT_EQ(config_hash(resolved), config_hash(config)) << resolved_yaml(config);
}

TEST_F(Models, EachHasAllRowsOfTheExperiment) {
  const Plan made = plan(kTwoModels + "seeds: [1, 2]\nvariants: [{name: v, set: {epochs: 3}}]\n");
  std::map<std::string, int> trials;
  for (const Trial& trial : made.trials) {
    EXPECT_THAT(trial.config.models, IsEmpty());
    EXPECT_EQ(trial.network, trial.config.model.name);
    EXPECT_EQ(trial.config.epochs, trial.variant == "v" ? 3u : 12u);
    if (trial.is_repeat()) ++trials[row_name(trial)];
  }
  EXPECT_THAT(trials, SizeIs(2 * 2 * 3));
  EXPECT_EQ(trials["wide: precise cpu:2 batch 64 v"], 2);
  for (const Version& version : versions_of(made.config)) EXPECT_THAT(version.config.models, IsEmpty());
}

TEST_F(Models, EachHasItsOwnBaselineAndControl) {
  const Plan made = plan(kTwoModels + "seeds: [1]\n");
  EXPECT_THAT(made.checked.baselines, ElementsAre("small: single cpu:1 batch 64", "wide: single cpu:1 batch 64"));
  std::vector<std::string> controls;
  for (const Trial& trial : made.trials)
    if (trial.control) controls.push_back(row_name(trial));
  EXPECT_THAT(controls, ElementsAre("small: single cpu:1 batch 64", "wide: single cpu:1 batch 64"));
}

TEST_F(Models, EachIsBracketedByItsBaseline) {
  std::vector<std::string> brackets;
  for (const Trial& trial : plan(kTwoModels + "seeds: [1, 2, 3, 4]\n").trials)
    if (trial.bracket > 0) brackets.push_back(fmt::format("{} {}", trial.bracket, row_name(trial)));
  EXPECT_THAT(brackets, ElementsAre("1 small: single cpu:1 batch 64", "1 wide: single cpu:1 batch 64", "2 small: single cpu:1 batch 64",
                                    "2 wide: single cpu:1 batch 64", "3 small: single cpu:1 batch 64", "3 wide: single cpu:1 batch 64"));
}

TEST_F(Models, EachMustFitTheData) {
  write("models/odd.yaml", "layers: [{dense: 7}]\n");
  TableProber probe(2, 0);
  try {
    make_plan(read("models: [small, odd]\nstrategies: [single]\n"), probe);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("odd.yaml:1:"), Not(HasSubstr("small.yaml"))));
  }
}

TEST_F(Models, AreFilteredAndPrinted) {
  const Plan made = plan(kTwoModels + "seeds: [1]\n");
  for (const Trial& trial : only(made, "model=wide")) EXPECT_EQ(trial.network, "wide");
  EXPECT_THAT(only(made, "model=wide,strategy=precise"), SizeIs(4)) << "two rows, and a reference with its control";
  EXPECT_THAT(describe(made), AllOf(HasSubstr("network  strategy"), HasSubstr("small    single"), HasSubstr("wide     precise")));
  try {
    only(made, "model=x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no trial has model 'x'; there are small and wide"));
  }
  const Plan plain = plan("model: small\nstrategies: [single]\n");
  EXPECT_THAT(describe(plain), Not(HasSubstr("network  ")));
  EXPECT_THAT(only(plain, "model=small"), SizeIs(plain.trials.size()));
}

TEST_F(Models, AreEstimatedByTheirArithmetic) {
  const Plan made = plan(kTwoModels + "seeds: [1]\n");
  std::map<std::string, double> seconds;
  for (const Trial& trial : made.trials) seconds[row_name(trial)] = estimate_seconds(trial, made.data);
  EXPECT_GT(seconds["wide: single cpu:1 batch 64"], 1.5 * seconds["small: single cpu:1 batch 64"]);
}

TEST_F(Models, RecurrentLayersAreEstimatedByTheirPositions) {
  const auto seconds = [&](std::size_t length) {
    Trial trial;
    trial.config = read("layers: [{gru: 512}, {dense: 5}]\nstrategies: [single]\nepochs: 1\n");
    trial.global_batch = 64;
    DataSummary data;
    data.spec.shape = {length, 8};
    data.spec.classes = 5;
    data.train_samples = 4096;
    return estimate_seconds(trial, data);
  };
  EXPECT_GT(seconds(100), 5 * seconds(10));
}

TEST_F(Models, TheTrialKeepsItsNetwork) {
  const Plan made = plan(kTwoModels + "seeds: [1]\n");
  for (const Trial& trial : made.trials) {
    nlohmann::json json = trial;
    EXPECT_EQ(row_name(json.get<Trial>()), row_name(trial));
    json.erase("network");
    EXPECT_EQ(json.get<Trial>().network, "") << "written by an older version";
  }
}

}  // namespace
}  // namespace mgcompare
