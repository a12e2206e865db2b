#include "reports/rehearsed_step.h"

#include <gmock/gmock.h>

#include "reports/link_need.h"
#include "reports/prediction.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kSteps = 100, kLatency = 1e-3, kBandwidth = 1e6;   // of two epochs; seconds per message, bytes/s

// Of a strategy that sends its gradient of 1,000 bytes in each step of 10 ms on one device at batch 128, or of its share.
Result rehearsed(std::size_t devices, std::vector<ExchangeCall> calls, double compute = 0) {
  Result result = make_result(1000, 0, 0);
  result.steps = static_cast<std::uint64_t>(kSteps);
  const double step = compute > 0 ? compute : 10e-3 / static_cast<double>(devices);
  for (EpochResult& epoch : result.epochs) epoch.seconds_training = step * kSteps / 2;
  // The first epoch has steps that take longer.
  result.epochs.front().seconds_training += 1;
  result.seconds_training = step * kSteps + 1;
  result.bytes_per_step = 1000;
  result.exchange_calls = std::move(calls);
  result.exchange_call_steps = result.exchange_calls.empty() ? 0 : 1;
  result.placement = {{"cpu:0", {}, {{"all_reduce", kLinksBetweenDevices, 2, 1000}, {"copy to host", "the host link", 1, 1e9}}}};
  return result;
}

Row& add_rehearsal(RunMaker& maker, std::size_t devices, const Result& result, std::size_t batch = 128) {
  Row& row = maker.add("together", devices, 1, result, batch);
  row.trial.rehearsal = true;
  row.trial.block = 0;
  return row;
}

double step_of(const std::vector<ExchangeCall>& calls, const LinkModel& link) {
  RunMaker maker;
  const Row row = add_rehearsal(maker, 2, rehearsed(2, calls));
  return rehearsed_step({&row}, ExchangeCost(maker.run, DeviceKind::cpu, link));
}

// An exchange of 1,000 bytes lasts 2 messages of 1 ms and 1 ms for its bytes.
const LinkModel kLink{"slow", "", kLatency, kBandwidth};

TEST(RehearsedStep, WaitsForAnExchangeThatNothingHides) {
  EXPECT_DOUBLE_EQ(step_of({{1000, 4e-3, 4e-3, 0}}, kLink), 5e-3 + 3e-3);
  // One after the other.
  EXPECT_DOUBLE_EQ(step_of({{1000, 1e-3, 1e-3, 0}, {1000, 4e-3, 4e-3, 0}}, kLink), 5e-3 + 6e-3);
}

// Only ranks that exchange wait for each other.
TEST(RehearsedStep, WaitsForTheLastRank) {
  RunMaker maker;
  const auto step = [&](Result result) {
    result.seconds_late = 2e-3;
    const Row row = add_rehearsal(maker, 2, result);
    return rehearsed_step({&row}, ExchangeCost(maker.run, DeviceKind::cpu, kLink));
  };
  EXPECT_DOUBLE_EQ(step(rehearsed(2, {{1000, 4e-3, 4e-3, 0}})), 5e-3 + 3e-3 + 2e-3);
  Result alone = rehearsed(2, {});
  alone.placement.front().sent.clear();
  EXPECT_DOUBLE_EQ(step(alone), 5e-3);
}

// One rank may have work that the others wait for.
TEST(RehearsedStep, IsThatOfTheSlowestRank) {
  RunMaker maker;
  std::vector<Row> rows;
  for (const double seconds : {5e-3, 4e-3, 9e-3}) rows.push_back(add_rehearsal(maker, 2, rehearsed(2, {{1000, seconds, seconds, 0}}, seconds)));
  for (const double seconds : {6e-3, 7e-3, 8e-3}) {
    rows.push_back(add_rehearsal(maker, 2, rehearsed(2, {{1000, seconds, seconds, 0}}, seconds)));
    rows.back().trial.rehearsed_rank = 1;
  }
  std::vector<const Row*> all;
  for (const Row& row : rows) all.push_back(&row);
  EXPECT_DOUBLE_EQ(rehearsed_step(all, ExchangeCost(maker.run, DeviceKind::cpu, kLink)), 7e-3 + 3e-3);
}

TEST(RehearsedStep, HidesAnExchangeBesideOtherWork) {
  EXPECT_DOUBLE_EQ(step_of({{1000, 1e-3, 4.5e-3, 0}}, kLink), 5e-3);
  EXPECT_DOUBLE_EQ(step_of({{1000, 2e-3, 4.5e-3, 0}}, kLink), 5e-3 + 0.5e-3);
  // The update of a part follows its exchange.
  EXPECT_DOUBLE_EQ(step_of({{1000, 2e-3, 4.5e-3, 1e-3}}, kLink), 5e-3 + 1.5e-3);
}

TEST(RehearsedStep, LetsAnExchangeWaitForTheOneBefore) {
  EXPECT_DOUBLE_EQ(step_of({{1000, 0, 4.5e-3, 0}, {1000, 1e-3, 4.5e-3, 0}}, kLink), 5e-3 + 1.5e-3);
  // In the step behind the one that is prolonged, data are ready later, too.
  EXPECT_DOUBLE_EQ(step_of({{1000, 2e-3, 4e-3, 0}, {1000, 6e-3, 8e-3, 0}}, kLink), 5e-3 + 2e-3);
}

TEST(RehearsedStep, HidesNothingWhereItIsNotKnownWhenExchangesBegin) {
  // Two calls in a step, of 500 bytes each. Copies to the host were part of the rehearsal.
  EXPECT_DOUBLE_EQ(step_of({}, kLink), 5e-3 + 2 * (2 * kLatency + 500 / kBandwidth));
}

TEST(ExchangeCost, LiesBetweenTheTimedSizes) {
  mgcompare::Run run;
  LinkMeasurements links;
  links.kind = "cpu";
  for (const auto& [bytes, seconds] : {std::pair(1000, 1e-3), std::pair(100'000, 4e-3), std::pair(200'000, 6e-3)})
    links.all_reduces.push_back({2, static_cast<std::size_t>(bytes), seconds});
  run.info.links = {links};
  const ExchangeCost cost(run, DeviceKind::cpu, std::nullopt);
  EXPECT_DOUBLE_EQ(cost.seconds(2, {"", 10}), 1e-3);
  EXPECT_NEAR(cost.seconds(2, {"", 10'000}), 2e-3, 1e-9) << "half way by logarithms";
  EXPECT_NEAR(cost.seconds(2, {"", 300'000}), 8e-3, 1e-9) << "at the bandwidth between the last two";
  EXPECT_GT(cost.seconds(4, {"", 100'000}), cost.seconds(2, {"", 100'000})) << "more messages";
}

TEST(ExchangeCost, OfAnotherCallIsItsOwnTime) {
  mgcompare::Run run;
  LinkMeasurements links;
  links.kind = "cpu";
  for (const std::size_t bytes : {1000, 100'000}) {
    for (const std::size_t devices : {2, 4}) links.all_reduces.push_back({devices, bytes, 1e-3});
    links.others.push_back({"reduce", 2, bytes, 5e-3});
  }
  run.info.links = {links};
  const ExchangeCost cost(run, DeviceKind::cpu, std::nullopt);
  EXPECT_DOUBLE_EQ(cost.seconds(2, {"reduce", 0, 5000}), 5e-3) << "the root sends nothing";
  EXPECT_DOUBLE_EQ(cost.seconds(2, {"all_reduce", 5000, 5000}), 1e-3);
  EXPECT_DOUBLE_EQ(cost.seconds(2, {"gather", 0, 5000}), 1e-3) << "not timed: as an all-reduce";
  EXPECT_NEAR(cost.seconds(4, {"reduce", 0, 5000}), 5e-3, 1e-4) << "as on two devices, where an all-reduce on four takes as long as on two";
}

TEST(ExchangeCost, OfACallOverAGivenLinkFollowsFromItsVector) {
  const ExchangeCost cost(mgcompare::Run(), DeviceKind::cpu, kLink);
  EXPECT_DOUBLE_EQ(cost.seconds(2, {"broadcast", 0, 1000}), 2 * kLatency + 1000 / kBandwidth) << "a rank that only receives";
  EXPECT_DOUBLE_EQ(cost.seconds(2, {"all_gather", 500, 1000}), 2 * kLatency + 500 / kBandwidth);
  EXPECT_DOUBLE_EQ(cost.seconds(4, {"broadcast", 3000, 1000}), 6 * kLatency + 1000 / kBandwidth);
  EXPECT_DOUBLE_EQ(cost.seconds(4, {"scatter", 750, 1000}), 6 * kLatency + 750 / kBandwidth);
  EXPECT_DOUBLE_EQ(cost.seconds(2, {"all_reduce", 1000, 1000}), 2 * kLatency + 1000 / kBandwidth);
}

TEST(ExchangeCost, NeedsALinkOnAMachineWithOneDevice) {
  const ExchangeCost cost(mgcompare::Run(), DeviceKind::cuda, std::nullopt);
  try {
    cost.seconds(2, {"", 1000});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--link"));
  }
}

// One device alone, and what two and four would do.
mgcompare::Run rehearsed_run(double measured_on_two = 0) {
  RunMaker maker;
  for (const std::size_t batch : {128, 1024}) {
    const double step = 10e-3 * static_cast<double>(batch) / 128;
    Result alone = step_result({.compute = 1e3 * step}, 1, batch);
    maker.baseline(1, alone, batch);
    maker.add("together", 1, 1, alone, batch);
    if (measured_on_two > 0)
      maker.add("together", 2, 1, step_result({.compute = 1e3 * measured_on_two * static_cast<double>(batch) / 128, .bytes = 1000}, 2, batch), batch);
    for (const std::size_t devices : {2, 4})
      add_rehearsal(maker, devices, rehearsed(devices, {{1000, 0, 0, 0}}, step / static_cast<double>(devices)), batch);
  }
  return maker.run;
}

TEST(Predict, ByRehearsalsGoesBeyondOneDevice) {
  const mgcompare::Run run = rehearsed_run();
  const std::vector<Prediction> all = predict(compare_rows(run), {2, 4}, {{DeviceKind::cpu, kLink}});
  ASSERT_EQ(all.size(), 2u);
  const Prediction& prediction = all.front();
  EXPECT_EQ(prediction.problem, "");
  EXPECT_TRUE(prediction.trusted && prediction.is_rehearsed);
  EXPECT_FALSE(prediction.hold_out_error.has_value());
  ASSERT_EQ(prediction.steps.size(), 2u);
  EXPECT_NEAR(prediction.steps[0].step, 5e-3 + 3e-3, 1e-9);
  EXPECT_NEAR(prediction.steps[1].step, 2.5e-3 + 7e-3, 1e-9) << "six messages";
  EXPECT_NEAR(prediction.steps[0].speed_up, 10.0 / 8, 1e-6);
  EXPECT_LT(prediction.steps[0].low, prediction.steps[0].step / 1.1) << "nothing on several devices was measured";
  EXPECT_EQ(prediction_table(all).lines.front()[7], "rehearsals");
}

TEST(Predict, ByRehearsalsDoesNotCountOneSlowRepeatOfTheBaseline) {
  RunMaker maker;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Result alone = step_result({.compute = seed == 2 ? 30.0 : 10.0}, 1);
    maker.baseline(seed, alone);
    maker.add("together", 1, seed, alone);
  }
  add_rehearsal(maker, 2, rehearsed(2, {{1000, 0, 0, 0}}));
  const std::vector<Prediction> all = predict(compare_rows(maker.run), {2}, {{DeviceKind::cpu, kLink}});
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].steps.size(), 1u);
  EXPECT_NEAR(all[0].steps[0].speed_up, 10.0 / 8, 1e-6);
}

TEST(Predict, SaysWhichDevicesWereNotRehearsed) {
  const mgcompare::Run run = rehearsed_run();
  const std::vector<Prediction> all = predict(compare_rows(run), {4, 16}, {{DeviceKind::cpu, kLink}});
  EXPECT_EQ(all.front().steps.size(), 1u);
  EXPECT_THAT(prediction_problems(all), ElementsAre(HasSubstr("16 devices were not rehearsed")));
}

TEST(Predict, ByRehearsalsIsCheckedOnWhatWasMeasured) {
  mgcompare::Run run = rehearsed_run(9e-3);
  LinkMeasurements links;
  links.kind = "cpu";
  for (const int bytes : {1000, 2000}) links.all_reduces.push_back({2, static_cast<std::size_t>(bytes), 3e-3});
  run.info.links = {links};
  const Prediction prediction = predict(compare_rows(run), {4}).front();
  ASSERT_TRUE(prediction.hold_out_error.has_value());
  EXPECT_NEAR(*prediction.hold_out_error, 1 - 8.0 / 9, 1e-6);
  ASSERT_EQ(prediction.steps.size(), 2u);
  EXPECT_NEAR(prediction.steps[0].measured.value(), 10.0 / 9, 1e-6);
  // Two devices took 9 ms in place of 8: so do four.
  const std::vector<const Row*> on_four = rehearsals_of(compare_rows(run), *prediction.largest).at(4);
  EXPECT_NEAR(prediction.steps[1].step, rehearsed_step(on_four, ExchangeCost(run, DeviceKind::cpu, std::nullopt)) * 9 / 8, 1e-9);
}

TEST(Predict, SaysWhyARehearsalFailed) {
  RunMaker maker;
  maker.baseline(1, step_result({}, 1));
  maker.add("together", 1, 1, step_result({}, 1));
  Row& row = maker.failed("together", 2, 1, "failed", "wait_until(): this is a rehearsal");
  row.trial.rehearsal = true;
  const std::vector<Prediction> all = predict(compare_rows(maker.run), {2});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_THAT(prediction_problems(all), ElementsAre(HasSubstr("it was not rehearsed on 2 devices: wait_until(): this is a rehearsal")));
}

// Of one rank alone it is not known how long the other takes.
TEST(Predict, NeedsTheRehearsalsOfBothRanks) {
  mgcompare::Run run = rehearsed_run();
  Row failed = *rehearsals_of(compare_rows(run), compare_rows(run).cells.back()).at(4).front();
  failed.trial.rehearsed_rank = 3;
  failed.result = {};
  failed.result.status = TrialStatus::failed;
  failed.result.cause = "out of memory";
  run.rows.push_back(failed);
  const std::vector<Prediction> all = predict(compare_rows(run), {2, 4}, {{DeviceKind::cpu, kLink}});
  EXPECT_THAT(prediction_problems(all), testing::Contains(HasSubstr("it was not rehearsed on 4 devices: out of memory")));
  const auto predicted = [](const Prediction& prediction) {
    std::vector<std::size_t> devices;
    for (const PredictedStep& step : prediction.steps) devices.push_back(step.devices);
    return devices;
  };
  // The row at the larger batch, of which a rehearsal failed, is the last.
  EXPECT_THAT(predicted(all.front()), ElementsAre(2, 4));
  EXPECT_THAT(predicted(all.back()), ElementsAre(2));
}

TEST(Predict, SaysWhyOneOfSeveralRehearsalsFailed) {
  mgcompare::Run run = rehearsed_run();
  Row failed = *rehearsals_of(compare_rows(run), compare_rows(run).cells.back()).at(4).front();
  failed.result = {};
  failed.result.status = TrialStatus::failed;
  failed.result.cause = "wait_until(): this is a rehearsal";
  for (const std::size_t devices : {8, 32}) {
    failed.trial.devices = devices;
    run.rows.push_back(failed);
  }
  const std::vector<Prediction> all = predict(compare_rows(run), {4, 8, 16, 32}, {{DeviceKind::cpu, kLink}});
  EXPECT_THAT(prediction_problems(all),
              testing::Contains(HasSubstr("it was not rehearsed on 8, 32 devices: wait_until(): this is a rehearsal; 16 devices were not rehearsed")));
}

TEST(LinkNeed, IsTheBandwidthAtWhichSeveralDevicesEqualOne) {
  const mgcompare::Run run = rehearsed_run();
  const Comparison comparison = compare_rows(run);
  const std::vector<LinkNeed> needs = link_needs(comparison, predict(comparison, {2}, {{DeviceKind::cpu, kLink}}));
  ASSERT_EQ(needs.size(), 2u);
  // 5 ms of a step of 10 ms may be lost; two messages cost 2 ms.
  EXPECT_NEAR(needs[0].bandwidth.value(), 1000 / 3e-3, 1);
  EXPECT_NEAR(needs[0].most, 10.0 / 7, 1e-6);
  // At the larger batch 38 ms may be lost to 1,000 bytes.
  EXPECT_NEAR(needs[1].bandwidth.value(), 1000 / 38e-3, 1);
  EXPECT_THAT(link_need_table(needs).lines.front()[4], HasSubstr("kB/s"));
  const LinkModel hopeless{"", "", 3e-3, kBandwidth};
  EXPECT_FALSE(link_needs(comparison, predict(comparison, {2}, {{DeviceKind::cpu, hopeless}})).front().bandwidth.has_value());
}

TEST(LinkNeed, TheBreakEvenBatchLiesBetweenTwoPredictions) {
  const mgcompare::Run run = rehearsed_run();
  const Comparison comparison = compare_rows(run);
  // An exchange of 6 ms: 0.91 times as fast at 128, 1.74 at 1,024.
  const LinkModel slow{"", "", 2.5e-3, kBandwidth};
  const std::vector<std::string> sentences = predicted_break_even(predict(comparison, {2}, {{DeviceKind::cpu, slow}}));
  EXPECT_THAT(sentences, ElementsAre(HasSubstr("together on 2")));
  EXPECT_TRUE(predicted_break_even(predict(comparison, {2}, {{DeviceKind::cpu, kLink}})).empty()) << "both batches pay";
}

}  // namespace
}  // namespace mgcompare
