// Blocks of layers in YAML: names, inputs, and invalid input.

#include <gmock/gmock.h>

#include "tests/config/workspace.h"

namespace mgcompare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Blocks : public Workspace {
 protected:
  std::vector<LayerConfig> layers(const std::string& list) { return read("strategies: [serial]\nlayers:\n" + list).model.layers; }
  std::vector<std::string> names(const std::string& list) {
    std::vector<std::string> found;
    for (const LayerConfig& layer : layers(list)) found.push_back(layer.name);
    return found;
  }
  std::string refused(const std::string& list) { return complaint("strategies: [serial]\nlayers:\n" + list + "\n"); }

  const std::string residual_ =
      "  - dense: 8\n"
      "  - repeat:\n"
      "      name: stage\n"
      "      times: 2\n"
      "      layers:\n"
      "        - dense: 8\n"
      "        - tanh\n"
      "        - add:\n"
      "          inputs: [tanh1, input]\n"
      "  - dense: 10\n"
      "    inputs: stage.1.add1\n"
      "  - dense: 10\n"
      "    inputs: stage\n";
};

TEST_F(Blocks, EachCopyHasNamesAndAnInputOfItsOwn) {
  const auto list = layers(residual_);
  ASSERT_THAT(list, SizeIs(9));
  EXPECT_EQ(list[1].name, "stage.1.dense1");
  EXPECT_THAT(list[1].inputs, IsEmpty());
  EXPECT_THAT(list[3].inputs, ElementsAre("stage.1.tanh1", "dense1"));
  EXPECT_EQ(list[4].name, "stage.2.dense1");
  EXPECT_THAT(list[6].inputs, ElementsAre("stage.2.tanh1", "stage.1.add1"));
  EXPECT_EQ(list[6].place.line, list[3].place.line);
  EXPECT_EQ(list[7].name, "dense2");
  EXPECT_THAT(list[7].inputs, ElementsAre("stage.1.add1"));
  EXPECT_THAT(list[8].inputs, ElementsAre("stage.2.add1"));
}

TEST_F(Blocks, MayContainBlocks) {
  EXPECT_THAT(names("  - repeat:\n"
                    "      times: 2\n"
                    "      layers:\n"
                    "        - tanh\n"
                    "        - repeat: {times: 2, name: in, layers: [relu, {add: ~, inputs: [relu1, input]}]}\n"
                    "        - {add: ~, inputs: [in, in.1.relu1, input]}\n"
                    "  - dense: 10\n"),
              ElementsAre("repeat1.1.tanh1", "repeat1.1.in.1.relu1", "repeat1.1.in.1.add1", "repeat1.1.in.2.relu1",
                          "repeat1.1.in.2.add1", "repeat1.1.add1", "repeat1.2.tanh1", "repeat1.2.in.1.relu1", "repeat1.2.in.1.add1",
                          "repeat1.2.in.2.relu1", "repeat1.2.in.2.add1", "repeat1.2.add1", "dense1"));
  const auto list = layers(
      "  - tanh\n"
      "  - relu\n"
      "  - repeat: {times: 1, name: out, layers: [{repeat: {times: 2, name: in, layers: [sigmoid, {add: ~, inputs: [sigmoid1, input]}]}}]}\n"
      "    inputs: tanh1\n"
      "  - {add: ~, inputs: [out, out.1.in.1.add1]}\n");
  ASSERT_THAT(list, SizeIs(7));
  EXPECT_THAT(list[2].inputs, ElementsAre("tanh1")) << "not the layer before the block";
  EXPECT_THAT(list[3].inputs, ElementsAre("out.1.in.1.sigmoid1", "tanh1"));
  EXPECT_THAT(list[4].inputs, IsEmpty());
  EXPECT_THAT(list[5].inputs, ElementsAre("out.1.in.2.sigmoid1", "out.1.in.1.add1"));
  EXPECT_THAT(list[6].inputs, ElementsAre("out.1.in.2.add1", "out.1.in.1.add1"));
}

TEST_F(Blocks, TheSampleIsTheInputOfAFirstBlock) {
  const auto list = layers("  - repeat: {times: 2, layers: [tanh, {add: ~, inputs: [tanh1, input]}]}\n");
  EXPECT_THAT(list[1].inputs, ElementsAre("repeat1.1.tanh1", "input"));
  EXPECT_THAT(list[3].inputs, ElementsAre("repeat1.2.tanh1", "repeat1.1.add1"));
}

TEST_F(Blocks, TheResolvedConfigReadsBack) {
  const Config config = read("strategies: [serial]\nlayers:\n" + residual_);
  const std::string yaml = resolved_yaml(config);
  EXPECT_THAT(yaml, HasSubstr("stage.2.tanh1"));
  EXPECT_EQ(config_hash(read(yaml)), config_hash(config)) << yaml;
}

TEST_F(Blocks, TellsWhatIsWrong) {
  const std::string wide(60, 'x');
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"  - repeat", "'repeat' takes settings by name"},
      {"  - repeat: 3", "x.yaml:3:5: error: 'repeat' takes settings by name, not '3'"},
      {"  - repeat: {layers: [tanh]}", "'repeat' needs 'times'"},
      {"  - repeat: {times: 3}", "'repeat' needs 'layers'"},
      {"  - repeat: {times: 0, layers: [tanh]}", "'times' must be a whole number from 1 to 1,000, not '0'"},
      {"  - repeat: {times: 2, layers: []}", "'layers' must be a list of layers"},
      {"  - repeat: {times: 2, layers: tanh}", "'layers' must be a list of layers, not 'tanh'"},
      {"  - repeat: {times: 2, layer: [tanh]}", "did you mean 'layers'?"},
      {"  - repeat: {times: 2, name: input, layers: [tanh]}", "a block's name has 1 to 64 characters and is not 'input'"},
      {"  - repeat: {times: 2, layers: [tanh]}\n    name: x", "unknown key 'name' beside 'repeat'"},
      {"  - repeat: {times: 2, layers: [tanh]}\n    tanh:", "unknown key 'tanh' beside 'repeat'"},
      {"  - repeat: {times: 2, layers: [tahn]}", "x.yaml:3:33: error: there is no layer 'tahn'"},
      {"  - repeat: {times: 2, layers: [{tanh: ~, inputs: relu9}]}", "no layer before this one is called 'relu9'"},
      {"  - tanh\n  - repeat: {times: 2, layers: [{relu: ~, inputs: tanh1}]}", "no layer before this one is called 'tanh1'"},
      {"  - repeat: {times: 2, layers: [tanh]}\n  - {relu: ~, inputs: tanh1}", "layers before: repeat1, repeat1.1.tanh1, repeat1.2.tanh1 and input"},
      {"  - {tanh: ~, name: a}\n  - repeat: {times: 2, name: a, layers: [tanh]}", "the name 'a' is taken"},
      {"  - repeat: {times: 2, name: a, layers: [tanh]}\n  - {tanh: ~, name: a}", "the name 'a' is taken"},
      {"  - {tanh: ~, name: a.1.tanh1}\n  - repeat: {times: 2, name: a, layers: [tanh]}", "the name 'tanh1' is taken"},
      {"  - tanh\n  - relu\n  - {repeat: {times: 2, layers: [tanh]}, inputs: [tanh1, relu1]}", "a block takes one input"},
      {"  - repeat: {times: 2, name: " + wide + ", layers: [tanh]}", "has more than 64 characters"},
      {"  - repeat: {times: 1000, layers: [{repeat: {times: 1000, layers: [tanh]}}]}", "more than 10000 layers"},
      {"  - repeet: {times: 2, layers: [tanh]}", "did you mean 'repeat'?"},
  };
  for (const auto& [yaml, told] : wrong) EXPECT_THAT(refused(yaml), HasSubstr(told)) << yaml;
  const std::string twice = refused("  - repeat: {times: 9, layers: [tahn]}");
  EXPECT_EQ(twice.find("tahn'"), twice.rfind("there is no layer 'tahn'") + 19) << "once, not for every copy:\n" << twice;
}

}  // namespace
}  // namespace mgcompare
