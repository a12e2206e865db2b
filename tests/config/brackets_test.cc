#include "plan/baseline_reruns.h"

#include <gmock/gmock.h>

namespace mgcompare {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

Trial trial_of(const std::string& strategy, int number, int bracket = 0) {
  Trial trial;
  trial.strategy.name = trial.strategy.label = strategy;
  trial.number = number;
  trial.bracket = bracket;
  return trial;
}

// Trials of two rows, alternating, numbered from 1.
std::vector<Trial> trials(int count) {
  std::vector<Trial> all;
  for (int number = 1; number <= count; ++number) all.push_back(trial_of(number % 2 ? "alone" : "together", number));
  return all;
}

std::vector<Trial> brackets(int count) {
  std::vector<Trial> all;
  for (int bracket = 1; bracket <= count; ++bracket) all.push_back(trial_of("alone", 100 + bracket, bracket));
  return all;
}

std::vector<int> numbers(const std::vector<Trial>& trials) {
  std::vector<int> all;
  for (const Trial& trial : trials) all.push_back(trial.number);
  return all;
}

TEST(Brackets, FollowTheLevel) {
  Config config;
  config.seeds = {1};
  EXPECT_EQ(bracket_count(config), 3);
  config.measure.level = MeasureLevel::quick;
  EXPECT_EQ(bracket_count(config), 2);
  config.measure.level = MeasureLevel::thorough;
  config.seeds.resize(10);
  EXPECT_EQ(bracket_count(config), 11) << "before each block and at the end";
}

TEST(Brackets, StandAtTheBeginningInTheMiddleAndAtTheEnd) {
  EXPECT_THAT(numbers(with_brackets(trials(12), brackets(3))),
              ElementsAre(101, 1, 2, 3, 4, 5, 6, 102, 7, 8, 9, 10, 11, 12, 103));
  EXPECT_THAT(numbers(with_brackets(trials(12), brackets(2))), ElementsAre(101, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 102));
}

TEST(Brackets, AreAtMostAQuarter) {
  EXPECT_THAT(with_brackets(trials(7), brackets(3)), SizeIs(7)) << "one alone would bracket nothing";
  EXPECT_THAT(with_brackets(trials(8), brackets(3)), SizeIs(10));
  EXPECT_THAT(with_brackets(trials(12), brackets(9)), SizeIs(15));
  EXPECT_THAT(with_brackets(trials(400), brackets(9)), SizeIs(409));
}

TEST(Brackets, NeedTheirRowAndAnother) {
  std::vector<Trial> alone(12, trial_of("alone", 1)), together(12, trial_of("together", 1));
  EXPECT_THAT(with_brackets(alone, brackets(3)), SizeIs(12));
  EXPECT_THAT(with_brackets(together, brackets(3)), SizeIs(12));
  EXPECT_THAT(with_brackets(trials(12), {}), SizeIs(12));
}

// With eight trials there is room for one row at both ends.
TEST(Brackets, OfTheFirstRowIfThereAreFewTrials) {
  std::vector<Trial> both;
  for (int bracket = 1; bracket <= 2; ++bracket)
    for (const std::string network : {"small", "wide"}) {
      both.push_back(trial_of("alone", (network == "small" ? 100 : 200) + bracket, bracket));
      both.back().network = network;
    }
  const auto with = [&](int count) {
    std::vector<Trial> all = trials(count);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].network = i % 4 < 2 ? "small" : "wide";
    return numbers(with_brackets(all, both));
  };
  EXPECT_THAT(with(4), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(with(8), ElementsAre(101, 1, 2, 3, 4, 5, 6, 7, 8, 102));
  EXPECT_THAT(with(16), SizeIs(20));
}

// One baseline for each kind of device.
TEST(Brackets, OfAllKindsStandTogether) {
  std::vector<Trial> all = trials(16), both;
  all.back().device_kind = DeviceKind::cuda;
  for (int bracket = 1; bracket <= 2; ++bracket) {
    both.push_back(trial_of("alone", 100 + bracket, bracket));
    both.push_back(trial_of("together", 200 + bracket, bracket));
    both.back().device_kind = DeviceKind::cuda;
  }
  const std::vector<int> order = numbers(with_brackets(all, both));
  ASSERT_THAT(order, SizeIs(20));
  EXPECT_EQ(order[0], 101);
  EXPECT_EQ(order[1], 201);
  EXPECT_EQ(order[18], 102);
  EXPECT_EQ(order[19], 202);
}

}  // namespace
}  // namespace mgcompare
