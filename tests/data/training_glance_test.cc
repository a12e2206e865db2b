#include "data/training_glance.h"

#include <gmock/gmock.h>

#include "data/files.h"
#include "data/load.h"
#include "data/npy_files.h"

namespace mgcompare {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TrainingGlance glance_of(const DataConfig& config) { return glance_at(config, describe_dataset(config, {}).spec); }

TEST(TrainingGlance, HasTheValuesOfEachChannel) {
  const Folder folder;
  DataConfig config;
  config.set = DataSource::npy;
  config.path = folder.path();
  folder.write("x.npy", npy("<f4", {2, 2, 1, 2}, std::vector<float>{1, 3, -10, 0, 5, 7, 10, 20}));
  folder.write("y.npy", npy("<i8", {2}, std::vector<std::int64_t>{0, 1}));
  const TrainingGlance glance = glance_of(config);
  ASSERT_THAT(glance.channels, SizeIs(2));
  EXPECT_EQ(glance.channels[0].mean, 4);
  EXPECT_EQ(glance.channels[0].mean_square, (1 + 9 + 25 + 49) / 4.0);
  EXPECT_EQ(glance.channels[1].smallest, -10);
  EXPECT_EQ(glance.channels[1].largest, 20);
  EXPECT_THAT(glance.unseen_classes, IsEmpty());
}

TEST(TrainingGlance, TellsOfClassesWithoutASample) {
  const Folder folder;
  DataConfig config;
  config.set = DataSource::npy;
  config.path = folder.path();
  folder.write("x.npy", npy("<f4", {5, 1}, std::vector<float>(5)));
  folder.write("y.npy", npy("<i8", {5}, std::vector<std::int64_t>{0, 2, 4, 6, 8}));
  EXPECT_EQ(glance_of(config).unseen_classes, folder.path("y.npy") + ": 4 of the 9 classes have no training sample (the first is class 1): number the labels "
                                                                    "from 0 without gaps, unless this is meant");
  folder.write("y.npy", npy("<i8", {5}, std::vector<std::int64_t>{1, 2, 3, 4, 4}));
  EXPECT_THAT(glance_of(config).unseen_classes, testing::HasSubstr("1 of the 5 classes has no training sample (class 0)"));
  config.classes = 10;
  EXPECT_THAT(glance_of(config).unseen_classes, IsEmpty());
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
