#include "reports/explain.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "reports/breakdown.h"
#include "reports/drift.h"
#include "reports/markdown.h"
#include "reports/work.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Figures of one step, in milliseconds.
struct Step {
  double compute = 10, exchange = 0, waiting = 0, input = 0;
  double bytes = 0;
};

constexpr std::size_t kSteps = 100;

Result step_result(const Step& step, std::size_t devices, std::size_t batch = 128) {
  Result result = make_result(1000, 8, 0.98);
  result.steps = kSteps;
  result.bytes_per_step = step.bytes;
  result.seconds_training = (step.compute + step.exchange + step.waiting + step.input) * kSteps / 1e3;
  result.samples = batch * kSteps;
  result.samples_per_second = static_cast<double>(result.samples) / result.seconds_training;
  result.ranks.assign(devices, {.compute = step.compute * kSteps / 1e3,
                                .input = step.input * kSteps / 1e3,
                                .exchange = step.exchange * kSteps / 1e3,
                                .waiting = step.waiting * kSteps / 1e3});
  return result;
}

std::vector<std::string> rules(const mgcompare::Run& run) {
  std::vector<std::string> all;
  const Comparison comparison = compare_rows(run);
  for (const Reason& reason : explain(comparison)) all.push_back(reason.rule);
  return all;
}

Reason reason_of(const mgcompare::Run& run, const std::string& rule) {
  const Comparison comparison = compare_rows(run);
  for (const Reason& reason : explain(comparison))
    if (reason.rule == rule) return reason;
  return {};
}

TEST(Breakdown, IsReliableWhenItsPartsAreTheStep) {
  RunMaker maker;
  Row& row = maker.add("together", 2, 1, step_result({.compute = 6, .exchange = 3, .waiting = 1, .bytes = 1e6}, 2));
  EXPECT_TRUE(breakdown_of({&row}).reliable());
  EXPECT_NEAR(breakdown_of({&row}).exchange, 3e-3, 1e-12);
  row.result.seconds_training *= 1.03;
  EXPECT_FALSE(breakdown_of({&row}).reliable());
  row.result.seconds_training /= 1.03;
  // What was sent took time; that nobody saw it does not make it free.
  for (RankTimes& rank : row.result.ranks) rank.compute += rank.exchange, rank.exchange = 0;
  EXPECT_FALSE(breakdown_of({&row}).reliable());
  EXPECT_FALSE(breakdown_of({}).reliable());
}

// Errors of two ranks, or of two repeats, that cancel in the mean are errors still.
TEST(Breakdown, IsJudgedByRankAndRepeat) {
  RunMaker maker;
  const Row good = maker.add("together", 2, 1, step_result({.compute = 6, .exchange = 3, .waiting = 1, .bytes = 1e6}, 2));
  Row one = good, other = good;
  one.result.ranks[0].waiting += 0.04, one.result.ranks[1].waiting -= 0.04;
  EXPECT_NEAR(breakdown_of({&one}).sum(), breakdown_of({&good}).sum(), 1e-12);
  EXPECT_FALSE(breakdown_of({&one}).reliable());
  EXPECT_NEAR(breakdown_of({&one}).worst, 1.04, 1e-9);
  one = good;
  for (RankTimes& rank : one.result.ranks) rank.waiting += 0.04;
  for (RankTimes& rank : other.result.ranks) rank.waiting -= 0.04;
  EXPECT_TRUE(breakdown_of({&good, &good}).reliable());
  EXPECT_FALSE(breakdown_of({&one, &other}).reliable());
}

// The remainder makes every sum right, also where an exchange was counted twice.
// A run of the first schema, whose ranks have no strategy's own part.
TEST(Breakdown, OfAnOlderProgramIsSaidToBeInPart) {
  RunMaker maker;
  const auto older = [](const Result& result) {
    nlohmann::json json = result;
    for (nlohmann::json& rank : json["ranks"]) rank.erase("seconds_strategy");
    return json.get<Result>();
  };
  const Result result = step_result({.compute = 6, .exchange = 3, .waiting = 1, .bytes = 1e6}, 2);
  maker.add("together", 2, 1, older(result));
  EXPECT_TRUE(compare_rows(maker.run).cells[0].breakdown.is_inferred);
  EXPECT_THAT(markdown_report(compare_rows(maker.run)), HasSubstr("in part: an older program"));
  RunMaker newer;
  newer.add("together", 2, 1, nlohmann::json(result).get<Result>());
  EXPECT_FALSE(compare_rows(newer.run).cells[0].breakdown.is_inferred);
  EXPECT_THAT(markdown_report(compare_rows(newer.run)), testing::Not(HasSubstr("in part: an older program")));
}

TEST(Breakdown, ThatDoesNotSumIsMarkedWithByHowMuch) {
  RunMaker maker;
  Result result = step_result({.compute = 6, .exchange = 3, .waiting = 1, .bytes = 1e6}, 2);
  result.ranks[1].strategy = 0.07 * result.seconds_training;
  maker.add("together", 2, 1, result);
  EXPECT_FALSE(compare_rows(maker.run).cells[0].breakdown.reliable());
  EXPECT_THAT(markdown_report(compare_rows(maker.run)), HasSubstr("no: the parts are 107 % of a rank's time"));
}

TEST(Breakdown, RefusesComputeBelowZero) {
  RunMaker maker;
  Row& row = maker.add("together", 2, 1, step_result({.compute = 1, .exchange = 8, .waiting = 1, .bytes = 1e6}, 2));
  EXPECT_TRUE(breakdown_of({&row}).reliable());
  row.result.ranks[1].exchange += 0.2, row.result.ranks[1].compute -= 0.2;
  EXPECT_NEAR(breakdown_of({&row}).worst, 1, 1e-9);
  EXPECT_FALSE(breakdown_of({&row}).reliable());
}

TEST(WhatIf, TakesOneCostAfterTheOtherAway) {
  RunMaker maker;
  const Row& row = maker.add("together", 4, 1,
                             step_result({.compute = 5, .exchange = 3, .waiting = 1, .input = 1, .bytes = 1e6}, 4));
  const std::vector<Rung> rungs = what_if(breakdown_of({&row}), 1.9, 4);
  ASSERT_EQ(rungs.size(), 5u);
  EXPECT_NEAR(rungs[0].speed_up, 1.9, 1e-12);
  EXPECT_NEAR(rungs[1].speed_up, 1.9 * 10 / 7, 1e-9);
  EXPECT_NEAR(rungs[2].speed_up, 1.9 * 10 / 6, 1e-9);
  EXPECT_NEAR(rungs[3].speed_up, 1.9 * 10 / 5, 1e-9);
  EXPECT_EQ(rungs[4].speed_up, 4);
}

// 1.9x of two devices with a fifth of the step in exchange and waiting: without them the arithmetic says 2.375x, which
// two devices cannot be; the baseline was slow when it ran.
TEST(WhatIf, NeverFallsAndNeverPassesTheIdeal) {
  RunMaker maker;
  for (const double speed_up : {0.4, 1.3, 1.9, 2.0}) {
    for (const Step& step : {Step{.compute = 8, .exchange = 1, .waiting = 1, .bytes = 1e6}, Step{.compute = 9, .exchange = 1, .bytes = 1e6},
                             Step{.compute = 0.1, .exchange = 5, .waiting = 5, .bytes = 1e6}}) {
      const Row row = maker.add("together", 2, 1, step_result(step, 2));
      const std::vector<Rung> rungs = what_if(breakdown_of({&row}), speed_up, 2);
      ASSERT_EQ(rungs.size(), 5u);
      EXPECT_EQ(rungs.front().speed_up, speed_up);
      EXPECT_EQ(rungs.back().speed_up, 2);
      for (std::size_t k = 1; k < rungs.size(); ++k)
        EXPECT_GE(rungs[k].speed_up, rungs[k - 1].speed_up) << rungs[k].name << " of " << speed_up;
    }
  }
  const Row row = maker.add("together", 2, 1, step_result({.compute = 10, .exchange = 1, .bytes = 1e6}, 2));
  EXPECT_TRUE(what_if(breakdown_of({&row}), 2.1, 2).empty()) << "it is beyond the ideal already";
}

TEST(Explain, SaysNothingOfARunWithoutFaults) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, step_result({.compute = 20}, 1));
    maker.add("together", 2, seed, step_result({.compute = 10, .exchange = 0.5, .bytes = 1e6}, 2)).result.seconds_to_target = 4;
  }
  EXPECT_THAT(rules(maker.run), testing::ElementsAre());
}

// Ten times the bytes in ten times the time.
TEST(Explain, E1TellsBandwidth) {
  RunMaker maker;
  maker.baseline(1, step_result({.compute = 20}, 1));
  maker.add("together", 2, 1, step_result({.compute = 10, .exchange = 5, .bytes = 1e6}, 2));
  maker.add("apart", 2, 1, step_result({.compute = 10, .exchange = 0.5, .bytes = 1e5}, 2));
  const Reason reason = reason_of(maker.run, "E1");
  EXPECT_THAT(reason.evidence, AllOf(HasSubstr("together on 2 CPU cores, batch 128: 33 % of the step is exposed exchange"),
                                     HasSubstr("1.00 MB"), HasSubstr("follows the size")));
  EXPECT_THAT(reason.action, HasSubstr("fewer bytes"));
}

// A tenth of the bytes in the same time.
TEST(Explain, E2TellsLatency) {
  RunMaker maker;
  maker.baseline(1, step_result({.compute = 20}, 1));
  maker.add("together", 2, 1, step_result({.compute = 10, .exchange = 5, .bytes = 1e6}, 2));
  maker.add("apart", 2, 1, step_result({.compute = 10, .exchange = 4.9, .bytes = 1e5}, 2));
  EXPECT_THAT(reason_of(maker.run, "E2").evidence, HasSubstr("does not depend on the size"));
}

TEST(Explain, DoesNotGuessFromOneSize) {
  RunMaker maker;
  maker.baseline(1, step_result({.compute = 20}, 1));
  maker.add("together", 2, 1, step_result({.compute = 10, .exchange = 5, .bytes = 1e6}, 2));
  EXPECT_THAT(reason_of(maker.run, "E1").evidence, HasSubstr("too alike to tell latency from bandwidth"));
}

// 9 ms whatever the batch, and 1 ms for 128 samples.
TEST(Explain, E3FindsTooLittleWork) {
  RunMaker maker;
  maker.baseline(1, step_result({.compute = 10}, 1));
  maker.add("together", 1, 1, step_result({.compute = 10}, 1));
  maker.add("together", 2, 1, step_result({.compute = 9.5}, 2));
  const Reason reason = reason_of(maker.run, "E3");
  EXPECT_THAT(reason.evidence, AllOf(HasSubstr("64 samples a device"), HasSubstr("9.0 ms of each step remain")));
}

TEST(Explain, E4FindsSlowInput) {
  RunMaker maker;
  maker.baseline(1, step_result({.compute = 10, .input = 5}, 1));
  EXPECT_THAT(reason_of(maker.run, "E4").evidence, HasSubstr("33 % of the step is making batches"));
}

TEST(Explain, E5NamesTheStraggler) {
  RunMaker maker;
  Row& row = maker.add("together", 4, 1, step_result({.compute = 10, .waiting = 2}, 4));
  row.result.ranks[3].compute *= 1.18;
  row.result.ranks[3].waiting -= 0.18;
  EXPECT_THAT(reason_of(maker.run, "E5").evidence, HasSubstr("rank 3 takes 18 % longer"));
  // Ranks that run freely take different shares of the work.
  row.result.traits["pace"] = "free";
  EXPECT_EQ(reason_of(maker.run, "E5").rule, "");
}

TEST(Explain, E6SetsLearningAgainstSpeed) {
  RunMaker maker;
  maker.baseline(1, step_result({.compute = 20}, 1)).result.seconds_to_target = 8;
  maker.add("together", 2, 1, step_result({.compute = 10}, 2)).result.seconds_to_target = 7;
  EXPECT_THAT(reason_of(maker.run, "E6").evidence, HasSubstr("throughput 2.00x, but time to 97 % only 1.14x"));
}

TEST(Explain, E7CountsThreadsAndCores) {
  RunMaker maker;
  maker.add("together", 4, 1, step_result({.compute = 10}, 4));
  maker.run.info.environment.emplace_back("cpu cores", "2 physical, 4 logical");
  EXPECT_THAT(reason_of(maker.run, "E7").evidence, HasSubstr("4 threads on 2 physical cores"));
  maker.run.info.environment.back().second = "8 physical, 8 logical";
  EXPECT_EQ(reason_of(maker.run, "E7").rule, "");
  maker.run.info.environment.emplace_back("load before the run", "6.00");
  EXPECT_THAT(reason_of(maker.run, "E7").evidence, HasSubstr("a load of 6.00"));
}

TEST(Explain, E8BracketsWithTheBaseline) {
  RunMaker maker;
  for (const double rate : {1000.0, 1010.0, 900.0, 905.0}) {
    Row& row = maker.baseline(maker.run.rows.size() + 1, make_result(rate, 8, 0.98));
    row.started = "2024-05-01T12:0" + std::to_string(row.position) + ":00Z";
    row.finished = "2024-05-01T12:0" + std::to_string(row.position) + ":30Z";
  }
  const Comparison comparison = compare_rows(maker.run);
  const std::vector<Drift> found = drifts(comparison);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].change, -110 / 1010.0, 1e-9);
  EXPECT_THAT(reason_of(maker.run, "E8").evidence,
              HasSubstr("Between 2024-05-01T12:01:00Z and 2024-05-01T12:02:30Z the samples/s of alone cpu:1 batch 128 "
                        "changed by -10.9 %"));
}

TEST(Work, SplitsStepsIntoFixedAndPerSample) {
  RunMaker maker;
  for (const std::size_t batch : {64, 128, 512})
    maker.add("together", 1, 1, step_result({.compute = 2 + 0.01 * static_cast<double>(batch)}, 1, batch), batch);
  const Comparison comparison = compare_rows(maker.run);
  std::vector<const Cell*> cells;
  for (const Cell& cell : comparison.cells) cells.push_back(&cell);
  const std::optional<Work> work = fit_work(cells);
  ASSERT_TRUE(work.has_value());
  EXPECT_NEAR(work->fixed, 2e-3, 1e-9);
  EXPECT_NEAR(work->per_sample, 1e-5, 1e-11);
  EXPECT_NEAR(work->error, 0, 1e-9);
  EXPECT_FALSE(fit_work({cells[0]}).has_value());
  // Two devices save 5 us a sample, so 1 ms of exchange is paid for by 200 samples.
  EXPECT_NEAR(*break_even_batch(*work, 1e-3, 2), 200, 1e-6);
  EXPECT_FALSE(break_even_batch(*work, 1e-3, 1).has_value());
}

}  // namespace
}  // namespace mgcompare
