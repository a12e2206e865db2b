#include "reports/failures.h"
#include "reports/prediction.h"

#include <gmock/gmock.h>

#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::HasSubstr;

constexpr double kFixed = 1e-3, kSample = 1e-5, kLatency = 2e-5, kBandwidth = 1e9, kGradient = 1.7e6;

// Steps that follow the model exactly; `more` is exchange time that the model does not explain.
Result model_result(std::size_t devices, std::size_t batch, double more = 0) {
  const auto n = static_cast<double>(devices), samples = static_cast<double>(batch) / n;
  const double bytes = 2 * (n - 1) / n * kGradient;
  const double exchange = devices == 1 ? 0 : 2 * (n - 1) * kLatency + bytes / kBandwidth + more;
  const double compute = kFixed + kSample * samples, step = compute + exchange;
  Result result = make_result(static_cast<double>(batch) / step, 5, 0.98);
  result.steps = 100;
  result.seconds_training = 100 * step;
  result.bytes_per_step = bytes;
  result.ranks.assign(devices, {.compute = 100 * compute, .exchange = 100 * exchange});
  return result;
}

mgcompare::Run model_run(const std::vector<std::size_t>& counts, double more_on_the_largest = 0) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (const std::size_t batch : {256, 1024}) {
      maker.baseline(seed, model_result(1, batch), batch);
      for (const std::size_t devices : counts)
        maker.add("together", devices, seed,
                  model_result(devices, batch, devices == counts.back() ? more_on_the_largest : 0), batch);
    }
  }
  return maker.run;
}

TEST(Predict, FindsTheModelAndGoesBeyondTheMachine) {
  const mgcompare::Run run = model_run({1, 2, 3, 4});
  const Comparison comparison = compare_rows(run);
  const std::vector<Prediction> all = predict(comparison, {8, 64});
  ASSERT_EQ(all.size(), 2u);
  for (const Prediction& prediction : all) {
    ASSERT_EQ(prediction.problem, "");
    EXPECT_NEAR(prediction.hold_out_error.value(), 0, 1e-6);
    EXPECT_TRUE(prediction.trusted);
    ASSERT_EQ(prediction.steps.back().devices, 64u);
    const std::size_t batch = prediction.largest->trial().global_batch;
    for (const PredictedStep& step : prediction.steps) {
      const Result truth = model_result(step.devices, batch);
      EXPECT_NEAR(step.step, truth.seconds_training / 100, 1e-9) << step.devices;
      // There is always an error band, and it widens with the distance.
      EXPECT_LT(step.low, step.step);
      EXPECT_GT(step.high, step.step);
      EXPECT_EQ(step.measured.has_value(), step.devices <= 4);
    }
    const auto width = [](const PredictedStep& step) { return step.high / step.low; };
    EXPECT_GT(width(prediction.steps.back()), width(prediction.steps.front()));
  }
}

// The held-out count costs more than smaller counts predict, so nothing is predicted beyond it.
TEST(Predict, StaysOnTheMachineWhenTheHeldOutRowIsOff) {
  const mgcompare::Run run = model_run({1, 2, 3, 4}, 2e-3);
  const Comparison comparison = compare_rows(run);
  const std::vector<Prediction> all = predict(comparison, {8});
  ASSERT_FALSE(all.empty());
  for (const Prediction& prediction : all) {
    EXPECT_GT(prediction.hold_out_error.value(), kWorstHoldOut);
    EXPECT_FALSE(prediction.trusted);
    for (const PredictedStep& step : prediction.steps) EXPECT_LE(step.devices, 4u);
  }
  EXPECT_THAT(prediction_problems(all).front(), HasSubstr("and predictions need at most 15 %"));
}

TEST(Predict, NeedsAThirdCountOrALink) {
  const mgcompare::Run run = model_run({1, 2});
  const Comparison comparison = compare_rows(run);
  EXPECT_THAT(prediction_problems(predict(comparison, {8})).front(), HasSubstr("measure a third number of devices"));
  const LinkModel link{"given", "", kLatency, kBandwidth};
  const std::vector<Prediction> all = predict(comparison, {8}, {{DeviceKind::cpu, link}});
  ASSERT_EQ(all.front().problem, "");
  EXPECT_NEAR(all.front().hold_out_error.value(), 0, 1e-6);
  EXPECT_EQ(all.front().steps.back().devices, 8u);
}

TEST(Predict, AFasterLinkIsFaster) {
  const mgcompare::Run run = model_run({1, 2, 3, 4});
  const Comparison comparison = compare_rows(run);
  const LinkModel slow{"slow", "", kLatency, kBandwidth}, fast{"fast", "", kLatency, 1.1 * kBandwidth};
  EXPECT_LT(predict(comparison, {16}, {{DeviceKind::cpu, fast}}).front().steps.back().step,
            predict(comparison, {16}, {{DeviceKind::cpu, slow}}).front().steps.back().step);
}

// Steps measured on the machine's own link validate the model on that link, whichever link is predicted.
TEST(Predict, TrustsAModelThatIsAskedAboutAnotherLink) {
  const mgcompare::Run run = model_run({1, 2, 4});
  const Comparison comparison = compare_rows(run);
  const Prediction own = predict(comparison, {64}).front();
  ASSERT_TRUE(own.trusted);
  // With 64 devices the number of messages dominates. They cost more on ethernet10 than here, although its bytes cost
  // less.
  for (const char* name : {"ethernet10", "nvlink4"}) {
    const LinkModel link = link_of(name);
    const Prediction other = predict(comparison, {64}, {{DeviceKind::cpu, link}}).front();
    EXPECT_EQ(other.problem, "") << name;
    EXPECT_TRUE(other.trusted) << name;
    EXPECT_EQ(other.hold_out_error, own.hold_out_error) << name;
    EXPECT_EQ(other.link.name, name);
    ASSERT_EQ(other.steps.size(), own.steps.size()) << name;
    for (const PredictedStep& step : other.steps) EXPECT_EQ(step.measured.has_value(), step.devices == 1) << name << step.devices;
    const double exchange = link.seconds(64, 2 * 63.0 / 64 * kGradient);
    EXPECT_NEAR(other.steps.back().step, kFixed + kSample * 256 / 64 + exchange, 1e-9) << name;
    if (link.latency > kLatency)
      EXPECT_GT(other.steps.back().step, own.steps.back().step) << name;
    else
      EXPECT_LT(other.steps.back().step, own.steps.back().step) << name;
  }
}

TEST(Predict, SaysNothingOfAnotherLinkByAModelThatFails) {
  const mgcompare::Run run = model_run({1, 2, 4}, 2e-3);
  const Prediction other = predict(compare_rows(run), {64}, {{DeviceKind::cpu, link_of("nvlink4")}}).front();
  EXPECT_FALSE(other.trusted);
  EXPECT_TRUE(other.steps.empty());
}

// The machine's own all-reduces, of which half is visible in the steps. Two device counts and one size could not
// separate latency from bandwidth.
TEST(Predict, TakesTheShapeOfTheMachinesAllReduces) {
  mgcompare::Run run = model_run({1, 2, 4});
  LinkMeasurements links;
  links.kind = "cpu";
  for (const std::size_t devices : {2, 4}) {
    const auto n = static_cast<double>(devices);
    for (const double bytes : {4e3, 6.4e4, 1e6, 4e6})
      links.all_reduces.push_back({devices, static_cast<std::size_t>(bytes),
                                   2 * (2 * (n - 1) * kLatency + 2 * (n - 1) / n * bytes / kBandwidth)});
  }
  run.info.links = {links};
  const auto with_call = [&](const std::string& call) {
    for (Row& row : run.rows) row.result.placement = {{"cpu:0", {}, {{call, "the links between devices", 1, kGradient}}}};
    return predict(compare_rows(run), {64}).front();
  };
  const Prediction reduces = with_call("all_reduce");
  EXPECT_EQ(reduces.link.name, "measured, all-reduce x 0.5");
  EXPECT_NEAR(reduces.link.latency, kLatency, 1e-9);
  EXPECT_NEAR(reduces.hold_out_error.value(), 0, 1e-6);
  const Prediction others = with_call("gather");
  EXPECT_EQ(others.link.name, "measured");
  EXPECT_GT(others.hold_out_error.value(), reduces.hold_out_error.value());
  // Measurements of a machine whose sums are wrong are not used.
  run.info.links[0].problems = {"wrong sums"};
  EXPECT_EQ(with_call("all_reduce").link.name, "measured");
}

TEST(Predict, UsesTheRowsWhereRehearsalsFailed) {
  mgcompare::Run run = model_run({1, 2, 4});
  const std::size_t steps = predict(compare_rows(run), {8}).front().steps.size();
  run.rows.push_back(run.rows.back());
  run.rows.back().trial.rehearsal = true;
  run.rows.back().result.status = TrialStatus::failed;
  const Comparison comparison = compare_rows(run);
  const Prediction prediction = predict(comparison, {8}).front();
  EXPECT_EQ(prediction.problem, "");
  EXPECT_FALSE(prediction.is_rehearsed);
  EXPECT_EQ(prediction.steps.size(), steps);
  EXPECT_EQ(comparison.trials, run.rows.size());
  EXPECT_EQ(comparison.done, run.rows.size() - 1);
  EXPECT_EQ(failures(comparison).size(), 1u);
  run.rows.back().state = RowState::pending;
  EXPECT_EQ(compare_rows(run).pending_rehearsals, 1u) << "no answer needs it";
}

TEST(Predict, AStrategyThatCannotBeRehearsedHasNotFailed) {
  mgcompare::Run run = model_run({1, 2});
  run.rows.push_back(run.rows.back());
  run.rows.back().trial.rehearsal = true;
  run.rows.back().result.status = TrialStatus::unavailable;
  run.rows.back().result.cause = "shared() has no ranks here";
  const Comparison comparison = compare_rows(run);
  EXPECT_EQ(comparison.trials, run.rows.size() - 1);
  EXPECT_EQ(comparison.finished, comparison.done);
  EXPECT_TRUE(failures(comparison).empty());
  EXPECT_THAT(prediction_problems(predict(comparison, {8})),
              testing::Contains(testing::AllOf(HasSubstr("it was not rehearsed on 2 devices: shared() has no ranks here; "),
                                               HasSubstr("measure a third number of devices"))));
}

TEST(Predict, SaysNothingOfRanksThatRunFreely) {
  mgcompare::Run run = model_run({1, 2, 4});
  for (Row& row : run.rows) row.result.traits["pace"] = "free";
  EXPECT_THAT(prediction_problems(predict(compare_rows(run), {8})).front(), HasSubstr("run in free pace"));
  EXPECT_TRUE(predict(compare_rows(mgcompare::Run()), {8}).empty());
}

TEST(Predict, WeakScalingNeedsNoOtherBatch) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, model_result(1, 256), 256).trial.scaling = ScalingMode::weak;
    for (const std::size_t devices : {1, 2, 3, 4})
      maker.add("together", devices, seed, model_result(devices, 256 * devices), 256 * devices).trial.scaling = ScalingMode::weak;
  }
  const Comparison comparison = compare_rows(maker.run);
  const std::vector<Prediction> all = predict(comparison, {16});
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].problem, "");
  EXPECT_NEAR(all[0].steps.back().step, model_result(16, 256 * 16).seconds_training / 100, 1e-9);
}

}  // namespace
}  // namespace mgcompare
