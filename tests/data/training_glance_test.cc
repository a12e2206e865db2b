#include "data/training_glance.h"

#include <gmock/gmock.h>

#include "data/files.h"
#include "data/load.h"
#include "data/npy_files.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TrainingGlance glance_of(const DataConfig& config) { return glance_at(config, describe_dataset(config, {})); }

DataConfig set_in(const Folder& folder, DataSource set) {
  DataConfig config;
  config.set = set;
  config.path = folder.path();
  return config;
}

std::string warning_of(const DataConfig& config) {
  const DataSummary data = describe_dataset(config, {});
  return label_warning(glance_at(config, data).labels, data.spec.classes, config);
}

Bytes idx_labels(const std::vector<std::uint8_t>& labels) {
  Bytes bytes = idx(0x801, {static_cast<std::uint32_t>(labels.size())}, 0);
  bytes.insert(bytes.end(), labels.begin(), labels.end());
  return bytes;
}

TEST(TrainingGlance, TellsOfValidationSamplesOfOneClass) {
  const Folder folder;
  DataConfig config = set_in(folder, DataSource::npy);
  folder.write("x.npy", npy("<f4", {6, 1}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  folder.write("y.npy", npy("<i8", {6}, std::vector<std::int64_t>{0, 1, 0, 1, 1, 1}));
  const auto warning = [&](std::size_t held) {
    config.validation_samples = held;
    return validation_warning(glance_of(config).labels, config);
  };
  EXPECT_THAT(warning(3), AllOf(HasSubstr("all 3 validation samples are of class 1"), HasSubstr("the last 3 of the 6 samples")));
  EXPECT_THAT(warning(4), IsEmpty());
  EXPECT_THAT(warning(0), IsEmpty());
}

TEST(TrainingGlance, TellsOfAClassThatMostSamplesHave) {
  const Folder folder;
  DataConfig config = set_in(folder, DataSource::npy);
  folder.write("x.npy", npy("<f4", {6, 1}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  const auto warning = [&](const std::vector<std::int64_t>& labels, double target) {
    folder.write("y.npy", npy("<i8", {6}, labels));
    const DataSummary data = describe_dataset(config, {});
    return majority_warning(glance_at(config, data).labels, data.spec.classes, config, target);
  };
  EXPECT_THAT(warning({1, 1, 0, 1, 2, 1}, 0), AllOf(HasSubstr("66.7 % of the training targets are of class 1"), Not(HasSubstr("target_accuracy"))));
  EXPECT_THAT(warning({1, 1, 0, 1, 2, 1}, 0.6), HasSubstr("choose a `target_accuracy` above it, not 0.6"));
  EXPECT_THAT(warning({1, 1, 0, 1, 2, 0}, 0), IsEmpty());
  EXPECT_THAT(warning({1, 1, 0, 1, 2, 0}, 0.5), HasSubstr("choose a `target_accuracy` above it"));
}

TEST(TrainingGlance, HasTheValuesOfEachChannel) {
  const Folder folder;
  DataConfig config = set_in(folder, DataSource::npy);
  folder.write("x.npy", npy("<f4", {2, 2, 1, 2}, std::vector<float>{1, 3, -10, 0, 5, 7, 10, 20}));
  folder.write("y.npy", npy("<i8", {2}, std::vector<std::int64_t>{0, 1}));
  const TrainingGlance glance = glance_of(config);
  ASSERT_THAT(glance.channels, SizeIs(2));
  EXPECT_EQ(glance.channels[0].mean, 4);
  EXPECT_EQ(glance.channels[0].mean_square, (1 + 9 + 25 + 49) / 4.0);
  EXPECT_EQ(glance.channels[1].smallest, -10);
  EXPECT_EQ(glance.channels[1].largest, 20);
  EXPECT_THAT(warning_of(config), IsEmpty());
}

TEST(TrainingGlance, TellsOfClassesWithoutASample) {
  const Folder folder;
  DataConfig config = set_in(folder, DataSource::npy);
  folder.write("x.npy", npy("<f4", {5, 1}, std::vector<float>(5)));
  folder.write("y.npy", npy("<i8", {5}, std::vector<std::int64_t>{0, 2, 4, 6, 8}));
  EXPECT_EQ(warning_of(config), folder.path("y.npy") + ": 4 of the 9 classes have no training sample (the first is class 1): number the labels "
                                "from 0 without gaps, unless this is meant");
  folder.write("y.npy", npy("<i8", {5}, std::vector<std::int64_t>{1, 2, 3, 4, 4}));
  EXPECT_THAT(warning_of(config), HasSubstr("1 of the 5 classes has no training sample (class 0)"));
  config.classes = 10;
  EXPECT_THAT(warning_of(config), IsEmpty());
  // More classes than occur are meant then, but one is not.
  folder.write("y.npy", npy("<i8", {5}, std::vector<std::int64_t>(5, 3)));
  EXPECT_EQ(warning_of(config), folder.path("y.npy") + ": all 5 targets are 3: with one class there is nothing to learn; check how they were saved");
}

TEST(TrainingGlance, TellsOfClassesWithoutASampleInIdxFiles) {
  const Folder folder;
  DataConfig config = set_in(folder, DataSource::idx);
  folder.write("train-images-idx3-ubyte", images(4));
  folder.write("train-labels-idx1-ubyte", idx_labels({1, 2, 3, 1}));
  EXPECT_THAT(warning_of(config), AllOf(HasSubstr("train-labels-idx1-ubyte: 1 of the 4 classes has no training sample (class 0)")));
  folder.write("train-labels-idx1-ubyte", idx_labels({1, 2, 0, 1}));
  EXPECT_THAT(warning_of(config), IsEmpty());
}

TEST(TrainingGlance, TellsOfClassesThatAreNotTrained) {
  const Folder folder;
  DataConfig config = set_in(folder, DataSource::npy);
  folder.write("x.npy", npy("<f4", {6, 1}, std::vector<float>(6)));
  folder.write("y.npy", npy("<i8", {6}, std::vector<std::int64_t>{0, 0, 1, 1, 2, 3}));
  EXPECT_THAT(warning_of(config), IsEmpty());
  config.train_samples = 2;
  EXPECT_EQ(warning_of(config), folder.path("y.npy") + ": all 2 targets that are trained are 0: with one class there is nothing to learn; `data.train_samples` "
                                "takes the first 2 of the 6 samples: if they are sorted by class, save them in a random order");
  config.train_samples = 3;
  EXPECT_THAT(warning_of(config), HasSubstr("2 of the 4 classes have no sample among the 3 that are trained (the first is class 2); `data.train_samples` takes"));
  config.train_samples = 0;
  config.validation_samples = 1;
  EXPECT_THAT(warning_of(config), HasSubstr("1 of the 4 classes has no sample among the 5 that are trained (class 3); `data.validation_samples` holds back the "
                                            "last 1 of the 6 samples"));
  // Those that no sample has are meant.
  config.classes = 9;
  EXPECT_THAT(warning_of(config), HasSubstr("1 of the 9 classes has no sample among the 5 that are trained (class 3)"));
  config.validation_samples = 0;
  EXPECT_THAT(warning_of(config), IsEmpty());
}

TEST(TrainingGlance, TellsOfClassesWithoutASampleInOwnFilesOfCifar10) {
  const Folder folder;
  DataConfig config = set_in(folder, DataSource::cifar10);
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"})
    folder.write(name, Bytes(3073, name[11] == '1' ? 4 : 2));
  EXPECT_THAT(warning_of(config), HasSubstr("8 of the 10 classes have no training sample (the first is class 0)"));
}

TEST(TrainingGlance, OfBuiltInSetsDoubtsNoLabels) {
  DataConfig config;
  for (const DataSource set : {DataSource::mnist, DataSource::digits, DataSource::cifar10, DataSource::synthetic}) {
    config.set = set;
    config.shape = {1, 4, 4};
    config.classes = set == DataSource::synthetic ? 100 : 0;
    config.samples = set == DataSource::synthetic ? 20 : 0;
    config.train_samples = 3;
    EXPECT_EQ(glance_of(config).labels.samples, 0u) << to_string(set);
  }
}

TEST(TrainingGlance, OfTokensTellsOfOneTargetAndOfUnknownOnes) {
  const Folder folder;
  const auto lines = [&](const char* name, const std::string& text) { return folder.write(name, Bytes(text.begin(), text.end())); };
  DataConfig config;
  config.set = DataSource::tokens;
  config.path = lines("t.csv", "1,2,3\n4,5,3\n6,7,8\n");
  EXPECT_THAT(warning_of(config), IsEmpty()) << "symbols that are never a target are ordinary";
  config.train_samples = 2;
  EXPECT_THAT(warning_of(config), HasSubstr("t.csv: all 2 targets that are trained are 3: with one class there is nothing to learn; `data.train_samples` takes"));
  config.train_samples = 0;
  config.validation = lines("v.csv", "1,2,8\n4,5,9\n4,5,12\n9,9,1\n");
  EXPECT_EQ(glance_of(config).labels.doubt,
            config.validation + ": 2 of the 4 targets are integers that " + config.path + " does not have (the first is 9 of sample 1), so that no network "
            "can learn them: number the integers of both files in the same way, unless this is meant");
  std::string many = "1,2,9\n";
  for (int i = 0; i < 150; ++i) many += "1,2,3\n";
  lines("v.csv", many);
  EXPECT_THAT(glance_of(config).labels.doubt, IsEmpty()) << "a rare one is ordinary";
}

TEST(TrainingGlance, OfOtherSetsKnowsWhatBytesAre) {
  DataConfig config;
  config.set = DataSource::digits;
  const TrainingGlance digits = glance_of(config);
  ASSERT_THAT(digits.channels, SizeIs(1));
  EXPECT_EQ(digits.channels[0].largest, 255);
  EXPECT_NEAR(digits.channels[0].mean_square, 21717.5, 1e-6);
}

}  // namespace
}  // namespace mgcompare
