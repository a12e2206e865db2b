#include "model/schedule.h"

#include <gtest/gtest.h>

namespace mgcompare {
namespace {

double rate(const ScheduleConfig& schedule, double epoch, std::size_t batch = 128) {
  OptimizerConfig optimizer;
  optimizer.learning_rate = 0.05;
  return learning_rate_at(optimizer, schedule, epoch, 12, batch);
}

TEST(Schedule, ConstantIsConstant) {
  EXPECT_DOUBLE_EQ(rate({}, 0), 0.05);
  EXPECT_DOUBLE_EQ(rate({}, 11.9), 0.05);
}

TEST(Schedule, StepsFallAtTheirEpoch) {
  ScheduleConfig schedule;
  schedule.kind = ScheduleKind::step;
  schedule.at = {10, 11};
  EXPECT_DOUBLE_EQ(rate(schedule, 9.999), 0.05);
  EXPECT_DOUBLE_EQ(rate(schedule, 10), 0.005);
  // 10, computed as a sum of ratios of samples, may differ from the whole number by rounding.
  EXPECT_DOUBLE_EQ(rate(schedule, 10 - 1e-12), 0.005);
  EXPECT_DOUBLE_EQ(rate(schedule, 11.5), 0.0005);
}

TEST(Schedule, CosineEndsAtTheFinalRate) {
  ScheduleConfig schedule;
  schedule.kind = ScheduleKind::cosine;
  schedule.final_rate = 0.01;
  EXPECT_DOUBLE_EQ(rate(schedule, 0), 0.05);
  EXPECT_DOUBLE_EQ(rate(schedule, 6), 0.03);
  EXPECT_NEAR(rate(schedule, 12), 0.01, 1e-15);
}

TEST(Schedule, BatchRulesScaleTheRate) {
  ScheduleConfig schedule;
  EXPECT_DOUBLE_EQ(rate(schedule, 3, 512), 0.05);
  schedule.batch_rule = BatchRule::linear;
  EXPECT_DOUBLE_EQ(rate(schedule, 3, 512), 0.2);
  EXPECT_DOUBLE_EQ(rate(schedule, 3, 64), 0.025);
  schedule.batch_rule = BatchRule::sqrt;
  EXPECT_DOUBLE_EQ(rate(schedule, 3, 512), 0.1);
}

TEST(Schedule, WarmUpRisesFromTheBaseRateToTheScaledRate) {
  ScheduleConfig schedule;
  schedule.batch_rule = BatchRule::linear;
  schedule.warm_up_epochs = 4;
  EXPECT_DOUBLE_EQ(rate(schedule, 0, 512), 0.05);
  EXPECT_DOUBLE_EQ(rate(schedule, 2, 512), 0.125);
  EXPECT_DOUBLE_EQ(rate(schedule, 4, 512), 0.2);
}

TEST(Schedule, WarmUpRisesFromZeroWhereNoRuleRaisesTheRate) {
  ScheduleConfig schedule;
  schedule.warm_up_epochs = 4;
  EXPECT_DOUBLE_EQ(rate(schedule, 0), 0);
  EXPECT_DOUBLE_EQ(rate(schedule, 1), 0.0125);
  EXPECT_DOUBLE_EQ(rate(schedule, 5), 0.05);
}

}  // namespace
}  // namespace mgcompare
