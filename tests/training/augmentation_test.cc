// Shifted and mirrored samples: the same for any number of ranks, and those that the reference loops compute.

#include "model/augmentation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "seen_samples.h"

namespace mgcompare::testing {
namespace {

TEST(Augmentation, IsTheSameForAnyNumberOfRanks) { expect_the_same_samples(DeviceKind::cpu); }

// Each sample that was seen is one of the 50 views of a stored one, and all of them occur.
TEST(Augmentation, ShiftsAndMirrorsStoredSamples) {
  const Dataset set = odd_samples(ElementType::uint8);
  const auto views_of = [&](std::size_t sample) {
    std::set<std::vector<float>> views;
    for (int down = -2; down <= 2; ++down)
      for (int right = -2; right <= 2; ++right)
        for (const bool mirrored : {false, true}) {
          std::vector<float> view;
          for (int channel = 0; channel < 2; ++channel)
            for (int row = 0; row < 7; ++row)
              for (int column = 0; column < 5; ++column) {
                const int y = row - down, x = (mirrored ? 4 - column : column) - right;
                const bool inside = y >= 0 && y < 7 && x >= 0 && x < 5;
                const float byte = inside ? set.train.values[sample * 70 + static_cast<std::size_t>(channel * 35 + y * 5 + x)] : 0.0f;
                view.push_back(byte);
              }
          views.insert(view);
        }
    return views;
  };
  std::map<std::vector<float>, std::size_t> sample_of;
  for (std::size_t sample = 0; sample < 61; ++sample)
    for (const std::vector<float>& view : views_of(sample)) sample_of[view] = sample;
  const auto seen = seen_by(2, DeviceKind::cpu, set, DataLocation::device, 20);
  std::map<std::size_t, std::set<std::vector<float>>> of_sample;
  for (const auto& [place, values] : seen) {
    std::vector<float> bytes;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double mean = i < 35 ? 0.3 : 0.7, deviation = i < 35 ? 0.21 : 1.9;
      bytes.push_back(static_cast<float>(std::round((values[i] * deviation + mean) * 255)));
      ASSERT_NEAR((values[i] * deviation + mean) * 255, bytes.back(), 1e-3);
    }
    ASSERT_TRUE(sample_of.contains(bytes)) << "epoch " << place.first << ", position " << place.second;
    of_sample[sample_of[bytes]].insert(bytes);
  }
  EXPECT_EQ(of_sample.size(), 61u);
  const auto several = std::count_if(of_sample.begin(), of_sample.end(), [](const auto& views) { return views.second.size() > 1; });
  EXPECT_GT(several, 50);  // three epochs show three of 50 views
}

TEST(Augmentation, UsesEveryShiftAndBothSides) {
  const Augmentation augmentation(1, 0, true, 4);
  std::map<std::pair<int, int>, int> shifts;
  int mirrored = 0;
  for (std::uint64_t sample = 0; sample < 8100; ++sample) {
    const Augmentation::View view = augmentation.view(sample);
    ++shifts[{view.down, view.right}];
    mirrored += view.mirrored;
  }
  EXPECT_EQ(shifts.size(), 81u);
  for (const auto& [shift, times] : shifts) EXPECT_NEAR(times, 100, 50);
  EXPECT_NEAR(mirrored, 4050, 200);
}

// Evaluation sees the samples as they are.
TEST(Augmentation, IsForTrainingOnly) {
  Trial trial = small_trial(2, "replicated");
  trial.config.epochs = 1;
  trial.config.data.prepare.crop_padding = 3;
  trial.config.data.prepare.flip = true;
  trial.config.optimizer.learning_rate = 1e-12;
  const Result moved = run(trial).result;
  trial.config.data.prepare = {};
  const Result still = run(trial).result;
  EXPECT_NE(moved.epochs.front().loss, still.epochs.front().loss);
  EXPECT_EQ(moved.accuracy, still.accuracy);
}

}  // namespace
}  // namespace mgcompare::testing
