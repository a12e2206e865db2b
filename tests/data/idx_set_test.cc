#include <gmock/gmock.h>

#include "data/files.h"
#include "data/load.h"
#include "data/refusal.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// Labels 0, 1, 2 ... up to `largest`, then again.
Bytes counted_labels(std::uint32_t samples, std::uint8_t largest) {
  Bytes bytes = idx(0x801, {samples}, samples);
  for (std::uint32_t i = 0; i < samples; ++i) bytes[8 + i] = static_cast<std::uint8_t>(i % (largest + 1u));
  return bytes;
}

DataConfig idx_set_in(const Folder& folder) {
  DataConfig config;
  config.set = DataSource::idx;
  config.path = folder.path();
  return config;
}

void write_set(const Folder& folder) {
  folder.write("train-images-idx3-ubyte.gz", gzip(images(9)));
  folder.write("train-labels.idx1-ubyte", counted_labels(9, 4));
  folder.write("t10k-images.idx3-ubyte", images(3));
  folder.write("t10k-labels-idx1-ubyte.gz", gzip(counted_labels(3, 6)));
}

// The error of a plan and that of a run.
std::vector<std::string> refusals(const DataConfig& config) {
  return {refusal([&] { static_cast<void>(describe_dataset(config, {})); }), refusal([&] { load_dataset(config, {}, nullptr); })};
}

TEST(IdxSet, HasTheFormOfItsFiles) {
  const Folder folder;
  write_set(folder);
  const DataSummary summary = describe_dataset(idx_set_in(folder), {});
  const Dataset set = load_dataset(idx_set_in(folder), {}, nullptr);
  for (const SampleSpec& spec : {summary.spec, set.spec}) {
    EXPECT_EQ(spec.shape, (Shape{1, 4, 3}));
    EXPECT_EQ(spec.classes, 5u);
  }
  EXPECT_EQ(summary.train_samples, 9u);
  EXPECT_EQ(summary.test_samples, 3u);
  EXPECT_EQ(set.train.samples, 9u);
  EXPECT_THAT(set.test.targets, ElementsAre(0, 1, 2));
}

TEST(IdxSet, ReadsSamplesOfOneTwoAndThreeAxes) {
  const Folder folder;
  DataConfig config = idx_set_in(folder);
  config.validation_samples = 1;
  folder.write("train-labels-idx1-ubyte", counted_labels(5, 2));
  folder.write("train-images-idx2-ubyte", idx(0x802, {5, 7}, 35));
  EXPECT_EQ(load_dataset(config, {}, nullptr).spec.shape, (Shape{7}));
  std::filesystem::remove(folder.path("train-images-idx2-ubyte"));
  folder.write("train-images-idx4-ubyte", idx(0x804, {5, 3, 2, 7}, 210));
  const Dataset set = load_dataset(config, {}, nullptr);
  EXPECT_EQ(set.spec.shape, (Shape{3, 2, 7}));
  EXPECT_EQ(set.test.samples, 1u);
}

TEST(IdxSet, RefusesWhatDoesNotBelongTogether) {
  const Folder folder;
  const auto text = [&](const DataConfig& config) { return refusal([&] { load_dataset(config, {}, nullptr); }); };
  EXPECT_THAT(text(idx_set_in(folder)), HasSubstr("train-images-idx3-ubyte (or -idx2-, -idx4-, or .gz) is missing"));
  write_set(folder);
  DataConfig config = idx_set_in(folder);
  config.classes = 4;
  EXPECT_THAT(text(config), HasSubstr("train-labels.idx1-ubyte: label 4 at byte 12: labels go from 0 to 3"));
  folder.write("t10k-images.idx3-ubyte", idx(0x803, {3, 4, 5}, 60));
  EXPECT_THAT(text(idx_set_in(folder)), AllOf(HasSubstr("samples of 1 x 4 x 5 values"), HasSubstr("of 1 x 4 x 3")));
  folder.write("t10k-images.idx3-ubyte", images(4));
  EXPECT_THAT(text(idx_set_in(folder)), AllOf(HasSubstr("holds 4 samples"), HasSubstr("holds 3 labels")));
  std::filesystem::remove(folder.path("t10k-labels-idx1-ubyte.gz"));
  EXPECT_THAT(text(idx_set_in(folder)), HasSubstr("t10k-labels-idx1-ubyte (or .gz) is missing"));
}

TEST(IdxSet, RefusesLabelsThatLeaveNothingToLearn) {
  const Folder folder;
  write_set(folder);
  folder.write("train-labels.idx1-ubyte", labels(9));
  EXPECT_THAT(refusals(idx_set_in(folder)), Each(HasSubstr("train-labels.idx1-ubyte: all 9 targets are 7: with one class there is nothing to learn")));
  DataConfig config = idx_set_in(folder);
  config.classes = 8;
  EXPECT_THAT(refusals(config), Each("accepted"));
}

TEST(IdxSet, RefusesTestLabelsThatNoTrainingSampleHas) {
  const Folder folder;
  write_set(folder);
  folder.write("train-labels.idx1-ubyte", counted_labels(9, 1));
  EXPECT_THAT(refusals(idx_set_in(folder)),
              Each(AllOf(HasSubstr("t10k-labels-idx1-ubyte.gz: target 2 of sample 2: the largest of " + folder.path("train-labels.idx1-ubyte") + " is 1"),
                         HasSubstr("write `data.classes: 3` if this is meant"))));
  DataConfig config = idx_set_in(folder);
  config.classes = 3;
  EXPECT_THAT(refusals(config), Each("accepted"));
}

TEST(IdxSet, RefusesFilesOfWhichTwoCouldBeMeant) {
  const Folder folder;
  write_set(folder);
  const auto read = [&] { load_dataset(idx_set_in(folder), {}, nullptr); };
  folder.write("t10k-images.idx3-ubyte.gz", gzip(images(3)));
  EXPECT_NO_THROW(read()) << "the same file, packed";
  Bytes others = images(3);
  others.back() ^= 1;
  folder.write("t10k-images.idx3-ubyte.gz", gzip(others));
  EXPECT_THAT(refusal(read), AllOf(HasSubstr("t10k-images.idx3-ubyte.gz: may be the file, and so may"), HasSubstr("leave one of them")));
  std::filesystem::remove(folder.path("t10k-images.idx3-ubyte.gz"));
  folder.write("t10k-images-idx3-ubyte", images(3));
  EXPECT_THAT(refusal(read), HasSubstr("and so may"));
}

TEST(IdxSet, FallsBackToAGivenForm) {
  const Folder folder;
  DataConfig config = idx_set_in(folder);
  config.fallback = DataFallback::synthetic;
  EXPECT_THAT(refusal([&] { load_dataset(config, {}, nullptr); }), HasSubstr("the fallback needs `shape`, `classes` and `samples`"));
  config.shape = {1, 6, 5};
  config.classes = 3;
  config.samples = 40;
  const Dataset set = load_dataset(config, {}, nullptr);
  EXPECT_EQ(set.spec.shape, (Shape{1, 6, 5}));
  EXPECT_EQ(set.train.samples, 40u);
  EXPECT_THAT(set.remark, HasSubstr("(idx) is not available"));
  EXPECT_EQ(describe_dataset(config, {}).train_samples, 40u);
  // Files that are there but wrong are never replaced.
  write_set(folder);
  folder.write("train-labels.idx1-ubyte", counted_labels(8, 4));
  EXPECT_THAT(refusal([&] { load_dataset(config, {}, nullptr); }), HasSubstr("they do not belong together"));
}

}  // namespace
}  // namespace mgcompare
