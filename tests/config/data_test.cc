// The section `data` of a config.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/config/workspace.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class DataKeys : public Workspace {};

TEST_F(DataKeys, ReadsEveryKey) {
  const DataConfig data = read(kGood + R"(
data:
  set: text
  path: input.txt
  validation: 0.1
  length: 64
  classes: 70
  target: last
  on: host
  scale: 0.5
  mean: [0.5, 0.25, 0.5]
  std: 2
  flip: true
  crop: {padding: 4}
)").data;
  EXPECT_EQ(data.set, DataSource::text);
  EXPECT_EQ(data.length, 64u);
  EXPECT_EQ(data.classes, 70u);
  EXPECT_EQ(data.target, TargetKind::last);
  EXPECT_EQ(data.on, DataLocation::host);
  EXPECT_EQ(data.prepare.scale, 0.5);
  EXPECT_THAT(data.prepare.mean, ElementsAre(0.5, 0.25, 0.5));
  EXPECT_THAT(data.prepare.std, ElementsAre(2));
  EXPECT_TRUE(data.prepare.flip);
  EXPECT_EQ(data.prepare.crop_padding, 4u);
  EXPECT_EQ(validation_share(data), 0.1);
}

TEST_F(DataKeys, RelativePathsStartAtTheConfig) {
  const std::filesystem::path folder = std::filesystem::path(write("x", "")).parent_path();
  const auto path_of = [&](const std::string& path) { return read(kGood + "data: {set: npy, path: " + path + "}").data.path; };
  EXPECT_EQ(path_of("mine"), (folder / "mine").string());
  EXPECT_EQ(path_of("."), folder.string());
  EXPECT_EQ(path_of("../other/"), (folder.parent_path() / "other").string());
  EXPECT_EQ(path_of("/data/x"), "/data/x");
  EXPECT_EQ(path_of(std::string(1000, 'x')), (folder / std::string(1000, 'x')).string());
  const DataConfig tokens = read(kGood + "data: {set: tokens, path: train.csv, validation: val.csv}").data;
  EXPECT_EQ(tokens.validation, (folder / "val.csv").string());
}

TEST_F(DataKeys, SurviveTheWayToAWorker) {
  for (const char* data : {"{set: synthetic, shape: [3, 224, 224], classes: 1000, samples: 4096}",
                           "{set: text, path: input.txt, length: 64, validation: 0.1}", "{set: npy, path: .}", "{set: mnist}",
                           "{set: cifar10, mean: [0.5, 0.5, 0.5], std: [0.2, 0.2, 0.2], flip: true, crop: {padding: 4}}",
                           "{set: npy, path: absent, fallback: synthetic, shape: [2, 2], classes: 2, samples: 9}"}) {
    const nlohmann::json json = read(kGood + "data: " + data);
    const Config there = json.get<Config>();
    EXPECT_EQ(nlohmann::json(there), json) << data;
    EXPECT_EQ(read(resolved_yaml(there)).data.path, there.data.path);
    EXPECT_EQ(config_hash(there), config_hash(read(resolved_yaml(there)))) << data;
  }
}

TEST_F(DataKeys, OfASectionWithinTheSectionAreSetEverywhere) {
  const std::string crop = kGood + "data: {set: cifar10, crop: {padding: 2}}\n";
  EXPECT_EQ(read(crop, {.overrides = {"data.crop.padding=5"}}).data.prepare.crop_padding, 5u);
  EXPECT_EQ(read(crop + "when_cpu: {data: {crop: {padding: 3}}}").data.prepare.crop_padding, 3u);
  EXPECT_EQ(read(crop + "when_cpu: {data.crop.padding: 3}").data.prepare.crop_padding, 3u);
  const Config with_variant = read(crop + "variants: [{name: wide, set: {data.crop.padding: 7}}]");
  EXPECT_EQ(apply_variant(with_variant, with_variant.variants.at(0)).data.prepare.crop_padding, 7u);
}

TEST_F(DataKeys, AreRefusedWhereTheyHaveNoMeaning) {
  const auto text = [&](const std::string& data) { return complaint(kGood + "data: " + data); };
  EXPECT_THAT(text("{set: npy}"), AllOf(HasSubstr("x.yaml:3:13:"), HasSubstr("the data set npy needs 'data.path'")));
  EXPECT_THAT(text("{set: text, path: a}"), HasSubstr("the data set text needs 'data.length'"));
  EXPECT_THAT(text("{set: synthetic}"), AllOf(HasSubstr("needs 'data.shape'"), HasSubstr("needs 'data.classes'"), HasSubstr("needs 'data.samples'")));
  EXPECT_THAT(text("{set: mnist, shape: [3]}"), AllOf(HasSubstr("x.yaml:3:27:"), HasSubstr("'data.shape' has no meaning for the data set mnist")));
  EXPECT_THAT(text("{set: synthetic, path: a, shape: 3, classes: 2, samples: 9}"), HasSubstr("'data.path' has no meaning"));
  EXPECT_THAT(text("{set: cifar10, fallback: digits}"), HasSubstr("the drawn digits can replace MNIST only"));
  EXPECT_THAT(text("{set: tokens, path: a, samples: 9}"), HasSubstr("'data.samples' has no meaning for the data set tokens"));
  EXPECT_THAT(text("{set: text, path: a, length: 5, fallback: synthetic, shape: [5]}"), HasSubstr("'data.shape' has no meaning"));
  EXPECT_THAT(text("{set: tokens, path: a, validation: 0.1}"), HasSubstr("'data.validation' of tokens is a file, not 0.1"));
  EXPECT_THAT(text("{set: text, path: a, length: 3, validation: 1}"), HasSubstr("the share of the text to hold back is 1"));
  EXPECT_THAT(text("{set: synthetic, shape: 3, classes: 1, samples: 9}"), HasSubstr("one class leaves nothing to learn"));
}

// Files that are missing are the reason; keys that would draw samples in their place are wrong because of that only.
TEST_F(DataKeys, AMissingFileComesBeforeTheKeysOfItsFallback) {
  const auto text = [&](const std::string& data) { return complaint(kGood + "data: " + data); };
  EXPECT_THAT(text("{set: npy, path: own, shape: [5, 11, 13], classes: 7, samples: 6000}"),
              AllOf(testing::StartsWith("x.yaml:3:24: error: no x.npy in own\n"), HasSubstr("docs/your-own-model.md"),
                    HasSubstr("'data.shape' has no meaning for the data set npy"), HasSubstr("it is for `fallback: synthetic`")));
  EXPECT_THAT(text("{set: text, path: a.txt, length: 5, samples: 9}"), testing::StartsWith("x.yaml:3:25: error: a.txt does not exist\n"));
  std::filesystem::create_directories(folder_ / "own");
  write("own/x.npy", "");
  EXPECT_THAT(text("{set: npy, path: own, shape: [5], classes: 7, samples: 6000}"),
              testing::StartsWith("x.yaml:3:36: error: 'data.shape' has no meaning"));
  EXPECT_EQ(text("{set: npy, path: absent, classes: 7, validation_samples: 100}"), "");
}

TEST_F(DataKeys, OfASectionWithinTheSectionAreChecked) {
  const auto text = [&](const std::string& data) { return complaint(kGood + "data: " + data); };
  EXPECT_THAT(text("{crop: {paddin: 4}}"), AllOf(HasSubstr("x.yaml:3:15:"), HasSubstr("unknown key 'paddin' in 'data.crop'"), HasSubstr("padding")));
  EXPECT_THAT(text("{crop: 4}"), AllOf(HasSubstr("'data.crop' must be a section of keys"), HasSubstr("keys: padding")));
  EXPECT_THAT(text("{crop: {padding: -1}}"), HasSubstr("'data.crop.padding' must be"));
  EXPECT_THAT(text("{crop: {crop: {padding: 1}}}"), HasSubstr("unknown key 'crop' in 'data.crop'"));
  EXPECT_EQ(text("{crop: }"), "");
}

}  // namespace
}  // namespace mgcompare
