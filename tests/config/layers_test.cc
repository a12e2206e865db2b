// Networks in YAML: forms, defaults, and invalid input.

#include <gmock/gmock.h>

#include "tests/config/workspace.h"

namespace mgcompare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class Layers : public Workspace {
 protected:
  std::vector<LayerConfig> layers(const std::string& list) {
    return read("strategies: [serial]\nlayers:\n" + list).model.layers;
  }
  std::string refused(const std::string& list) { return complaint("strategies: [serial]\nlayers:\n" + list + "\n"); }
};

TEST_F(Layers, EveryForm) {
  const auto list = layers(
      "  - conv: {channels: 20, kernel: 5}\n"
      "  - tanh\n"
      "  - max_pool: 2\n"
      "  - conv: {channels: 50, kernel: [5, 3], stride: 2, padding: [1, 0], bias: false, weights: {normal: 0.01}}\n"
      "    name: second\n"
      "  - average_pool: {kernel: 3, stride: 1}\n"
      "  - batch_norm:\n"
      "  - dropout: 0.25\n"
      "  - dense: 500\n"
      "    inputs: second\n"
      "  - add:\n"
      "    inputs: [dense1, input]\n"
      "  - dense: {units: 10, weights: glorot_uniform}\n");
  ASSERT_THAT(list, SizeIs(10));
  EXPECT_EQ(list[0].name, "conv1");
  EXPECT_EQ(list[0].kernel[1], 5u);
  EXPECT_EQ(list[0].stride[0], 1u);
  EXPECT_EQ(list[0].weights.kind, InitializerKind::xavier);
  EXPECT_EQ(list[0].place.line, 3);
  EXPECT_EQ(list[2].stride[0], 2u);
  EXPECT_EQ(list[3].name, "second");
  EXPECT_EQ(list[3].kernel[1], 3u);
  EXPECT_EQ(list[3].padding[0], 1u);
  EXPECT_EQ(list[3].padding[1], 0u);
  EXPECT_FALSE(list[3].bias);
  EXPECT_EQ(list[3].weights.kind, InitializerKind::normal);
  EXPECT_EQ(list[3].weights.scale, 0.01);
  EXPECT_EQ(list[4].stride[1], 1u);
  EXPECT_EQ(list[6].rate, 0.25);
  EXPECT_EQ(list[7].channels, 500u);
  EXPECT_THAT(list[7].inputs, ElementsAre("second"));
  EXPECT_THAT(list[8].inputs, ElementsAre("dense1", "input"));
  EXPECT_EQ(list[9].name, "dense2");
}

TEST_F(Layers, RecurrentOnesHaveTheirOwnDefaults) {
  const auto list = layers(
      "  - gru: {units: 512, return_sequences: true}\n"
      "  - lstm: 64\n"
      "  - gru: {units: 8, weights: he_normal, weight_decay: 1.0e-6}\n");
  ASSERT_THAT(list, SizeIs(3));
  EXPECT_EQ(list[0].channels, 512u);
  EXPECT_TRUE(list[0].return_sequences);
  EXPECT_EQ(list[0].weights.kind, InitializerKind::glorot_uniform);
  EXPECT_EQ(list[1].channels, 64u);
  EXPECT_FALSE(list[1].return_sequences);
  EXPECT_EQ(list[1].weights.kind, InitializerKind::glorot_uniform);
  EXPECT_EQ(list[2].name, "gru2");
  EXPECT_EQ(list[2].weights.kind, InitializerKind::he_normal);
  EXPECT_EQ(list[2].weight_decay, 1e-6);
  EXPECT_THAT(refused("  - gru"), HasSubstr("'gru' needs 'units'"));
  EXPECT_THAT(refused("  - lstm: {units: 4, return_sequences: 3}"), HasSubstr("'return_sequences' must be true or false"));
}

TEST_F(Layers, TellsWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"  - con: {channels: 3}", "x.yaml:3:5: error: there is no layer 'con'"},
      {"  - con: {channels: 3}", "^^^ did you mean 'conv'?"},
      {"  - tahn", "did you mean 'tanh'?"},
      {"  - conv: {channels: 3}", "'conv' needs 'kernel'"},
      {"  - conv", "'conv' needs 'channels'"},
      {"  - max_pool", "'max_pool' needs 'kernel'"},
      {"  - conv: 5", "'conv' takes settings by name, not '5'"},
      {"  - tanh: 5", "it has no settings"},
      {"  - conv:\n    channels: 3", "indent it further than 'conv'"},
      {"  - conv: {channels: 3, kernal: 3}", "did you mean 'kernel'?"},
      {"  - conv: {channels: 3, kernel: [1, 2, 3]}", "'kernel' is one number or [height, width]"},
      {"  - conv: {channels: 3, kernel: 0}", "'kernel' must be a whole number from 1 to 1,024, not '0'"},
      {"  - conv: {channels: 3, kernel: 3, bias: no}", "write false"},
      {"  - dropout: 1", "'rate' must be a number from 0 to 0.999999, not '1'"},
      {"  - dense: {units: 3, weights: xaver}", "did you mean 'xavier'?"},
      {"  - dense: {units: 3, weights: normal}", "'normal' needs a number"},
      {"  - dense: {units: 3, weights: {xavier: 3}}", "'xavier' takes no number"},
      {"  - dense: {units: 3, weights: {normal: .nan}}", "it must be finite"},
      {"  - {tanh: ~, relu: ~}", "'tanh' and 'relu' are one item of the list"},
      {"  - tanh\n  - add:\n    inputs: [tanh1, relu1]", "no layer before this one is called 'relu1'"},
      {"  - tanh\n  - add:\n    inputs: [tahn1]", "did you mean 'tanh1'?"},
      {"  - {tanh: ~, name: one}\n  - relu\n  - add", "x.yaml:5:5: error: 'add' needs two inputs or more"},
      {"  - {tanh: ~, name: one}\n  - relu\n  - add", "^^^ write `inputs: [name, name]` beside 'add'\n"
                                                      "        names are those of layers before (`name: X` beside a layer gives one): one, relu1 and input"},
      {"  - tanh\n  - concat:\n    inputs: tanh1", "'concat' needs two inputs or more"},
      {"  - {tanh: ~, name: a}\n  - {relu: ~, name: a}", "the name 'a' is taken"},
      {"  - {tanh: ~, name: input}", "the name 'input' is taken"},
      {"  - {tanh: ~, nam: a}", "unknown key 'nam' beside 'tanh'"},
      {"  - {}", "this layer is empty"},
      {"  - [tanh]", "a layer is a name or a name with settings, not a list"},
      {"  tanh", "'layers' must be a list of layers, not 'tanh'"},
  };
  for (const auto& [yaml, told] : wrong) EXPECT_THAT(refused(yaml), HasSubstr(told)) << yaml;
}

TEST_F(Layers, NetworksAreFoundBesideTheConfigThenWhereInstalled) {
  write("models/small.yaml", "layers: [{dense: 10}]\n");
  std::filesystem::create_directories(folder_ / "share/models");
  write("share/models/small.yaml", "layers: [{dense: 20}]\n");
  write("share/models/large.yaml", "layers: [{dense: 30}]\n");
  ConfigSetting setting;
  setting.share_folder = (folder_ / "share").string();
  const std::string strategies = "strategies: [serial]\n";
  EXPECT_EQ(read("model: small\n" + strategies, setting).model.layers.at(0).channels, 10u);
  EXPECT_EQ(read("model: large\n" + strategies, setting).model.layers.at(0).channels, 30u);
  EXPECT_EQ(read("model: share/models/large.yaml\n" + strategies).model.name, "large");
  EXPECT_THAT(complaint("model: smal\n" + strategies, setting), HasSubstr("did you mean 'small'?"));
  EXPECT_THAT(complaint("model: ../none.yaml\n" + strategies), HasSubstr("there is no file"));
  EXPECT_THAT(complaint(strategies), HasSubstr("the network is missing"));
  EXPECT_EQ(read("model: named\nlayers: [{dense: 3}]\n" + strategies).model.name, "named");
}

TEST_F(Layers, ErrorsInANetworkNameItsFile) {
  write("models/bad.yaml", "layers:\n  - dense: x\n");
  EXPECT_THAT(complaint("model: bad\nstrategies: [serial]\n"),
              HasSubstr("models/bad.yaml:2:12: error: 'units' must be a whole number from 1 to 1,048,576, not 'x'\n"
                        "    2 |   - dense: x\n"
                        "      |            ^"));
  write("models/bad.yaml", "layer: [tanh]\n");
  EXPECT_THAT(complaint("model: bad\nstrategies: [serial]\n"), HasSubstr("did you mean 'layers'?"));
  write("models/bad.yaml", "");
  EXPECT_THAT(complaint("model: bad\nstrategies: [serial]\n"), HasSubstr("this network has no `layers:`"));
}

}  // namespace
}  // namespace mgcompare
