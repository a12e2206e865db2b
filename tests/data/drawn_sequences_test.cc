#include <gmock/gmock.h>

#include <map>

#include "data/files.h"
#include "data/load.h"
#include "data/refusal.h"

namespace mgcompare {
namespace {

using testing::HasSubstr;

DataConfig missing(DataSource set) {
  DataConfig config;
  config.set = set;
  config.path = "/nonexistent/file";
  config.fallback = DataFallback::synthetic;
  config.length = 12;
  config.classes = 20;
  config.samples = 800;
  return config;
}

TEST(DrawnSequences, TakeThePlaceOfAMissingFile) {
  for (const DataSource source : {DataSource::tokens, DataSource::text}) {
    const DataConfig config = missing(source);
    const DataSummary form = describe_dataset(config, {});
    const Dataset set = load_dataset(config, {}, nullptr);
    EXPECT_EQ(set.train.samples, 800u);
    EXPECT_EQ(set.test.samples, 100u);
    EXPECT_EQ(form.train_samples, 800u);
    EXPECT_EQ(form.test_samples, 100u);
    EXPECT_EQ(set.spec.shape, (Shape{12}));
    EXPECT_EQ(form.spec.shape, set.spec.shape);
    EXPECT_EQ(form.spec.tokens, 20u);
    EXPECT_EQ(set.spec.tokens, 20u);
    EXPECT_EQ(set.spec.targets, source == DataSource::text ? 12u : 1u);
    EXPECT_EQ(form.spec.targets, set.spec.targets);
    EXPECT_THAT(set.remark, HasSubstr("is not available, so the samples are synthetic"));
    EXPECT_EQ(set.fingerprint, load_dataset(config, {}, nullptr).fingerprint);
  }
}

TEST(DrawnSequences, CanBeLearned) {
  const Dataset set = load_dataset(missing(DataSource::tokens), {}, nullptr);
  const auto token = [](const Split& split, std::size_t i) { return reinterpret_cast<const std::int32_t*>(split.values.data())[i]; };
  // What follows each token most often in training, and how often that is right in the test samples.
  std::map<std::int32_t, std::map<std::uint32_t, int>> counts;
  for (std::size_t i = 0; i < set.train.samples; ++i) ++counts[token(set.train, i * 12 + 11)][set.train.targets[i]];
  std::size_t correct = 0;
  for (std::size_t i = 0; i < set.test.samples; ++i) {
    const auto& followers = counts[token(set.test, i * 12 + 11)];
    const auto best = std::max_element(followers.begin(), followers.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    correct += best->first == set.test.targets[i] ? 1 : 0;
  }
  EXPECT_GT(correct, 60u);
  EXPECT_LT(correct, 95u);
}

TEST(DrawnSequences, NeedTheirFormAndAWholeSetThatIsMissing) {
  for (std::size_t DataConfig::*const key : {&DataConfig::length, &DataConfig::classes, &DataConfig::samples}) {
    DataConfig config = missing(DataSource::text);
    config.*key = 0;
    EXPECT_THAT(refusal([&] { describe_dataset(config, {}); }), HasSubstr("the fallback needs `length`, `classes` and `samples`"));
  }
  const Folder folder;
  DataConfig part = missing(DataSource::tokens);
  part.path = folder.write("t.csv", Bytes{'1', ',', '2', ',', '3', '\n'});
  part.length = 0;
  part.validation = folder.path("none.csv");
  EXPECT_THAT(refusal([&] { load_dataset(part, {}, nullptr); }), HasSubstr("none.csv is missing, but"));
}

}  // namespace
}  // namespace mgcompare
