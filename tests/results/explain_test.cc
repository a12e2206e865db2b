#include "reports/explain.h"

#include <gmock/gmock.h>

#include "reports/drift.h"
#include "reports/findings.h"
#include "reports/work.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::HasSubstr;

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

TEST(Explain, SaysNothingOfARunWithoutFaults) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, step_result({.compute = 20}, 1));
    maker.add("together", 2, seed, step_result({.compute = 10, .exchange = 0.5, .bytes = 1e6}, 2)).result.seconds_to_target = 4;
  }
  EXPECT_THAT(rules(maker.run), testing::ElementsAre());
}

// Ten times the bytes in ten times the time: bandwidth.
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

// A tenth of the bytes in the same time: latency.
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
  EXPECT_THAT(reason_of(maker.run, "E1").evidence, HasSubstr("too similar sizes to separate latency from bandwidth"));
}

// All-reduces timed on their own: 1 ms of latency, and `per_megabyte` for each megabyte.
LinkMeasurements bare_links(double per_megabyte) {
  LinkMeasurements links;
  links.kind = "cpu";
  for (const std::size_t bytes : {4096, 65536, 1048576, 4194304})
    links.all_reduces.push_back({2, bytes, 1e-3 + per_megabyte * static_cast<double>(bytes) / 1e6});
  return links;
}

Result with_calls(Result result, const std::string& call, const std::string& over, double calls) {
  result.placement.assign(result.ranks.size(), {"cpu:0", {}, {{call, over, calls, result.bytes_per_step}}});
  return result;
}

// Ten times the bytes in ten times the time, but over the host link. The machine's own all-reduces show what limits
// those of the other row.
TEST(Explain, TellsLatencyByTheMachinesAllReduces) {
  RunMaker maker;
  const std::string links = "the links between devices";
  maker.baseline(1, step_result({.compute = 20}, 1));
  const Step reduced{.compute = 10, .exchange = 4, .bytes = 1e6}, copied{.compute = 10, .exchange = 40, .bytes = 1e7};
  maker.add("together", 2, 1, with_calls(step_result(reduced, 2), "all_reduce", links, 2));
  maker.add("apart", 2, 1, with_calls(step_result(copied, 2), "copy to host", "the host link", 1));
  maker.run.info.links = {bare_links(0.2e-3)};
  const Reason reason = reason_of(maker.run, "E2");
  EXPECT_THAT(reason.evidence,
              AllOf(HasSubstr("together on 2 CPU cores"), HasSubstr("sends 500.0 kB takes 1.1 ms on this machine, 1.0 ms of which does not depend on its size"),
                    testing::Not(HasSubstr("more row"))));
  EXPECT_THAT(reason.action, HasSubstr("compressing will not help"));
  // No other row makes the same calls.
  EXPECT_THAT(reason_of(maker.run, "E1").evidence, AllOf(HasSubstr("apart on 2"), HasSubstr("too similar sizes")));
  maker.run.info.links = {bare_links(10e-3)};
  EXPECT_THAT(reason_of(maker.run, "E1").title, HasSubstr("limited by bandwidth"));
  EXPECT_EQ(reason_of(maker.run, "E2").rule, "");
  // Doubtful measurements are not used.
  maker.run.info.links[0].problems = {"a pair is slow"};
  EXPECT_EQ(reason_of(maker.run, "E1").title, "Communication");
}

// An exchange in every tenth step has a tenth of the bytes and of the time. That is no sign of latency.
TEST(Explain, DoesNotTakeARareExchangeForASmallOne) {
  RunMaker maker;
  maker.baseline(1, step_result({.compute = 20}, 1));
  const Step always{.compute = 10, .exchange = 5, .bytes = 1e6}, rarely{.compute = 10, .exchange = 0.5, .bytes = 1e5};
  maker.add("together", 2, 1, with_calls(step_result(always, 2), "all_reduce", "the links", 1));
  maker.add("apart", 2, 1, with_calls(step_result(rarely, 2), "all_reduce", "the links", 0.1));
  EXPECT_EQ(reason_of(maker.run, "E1").title, "Communication");
}

// 9 ms independent of the batch, and 1 ms per 128 samples.
TEST(Explain, E3FindsTooLittleWork) {
  RunMaker maker;
  maker.baseline(1, step_result({.compute = 10}, 1));
  maker.add("together", 1, 1, step_result({.compute = 10}, 1));
  maker.add("together", 2, 1, step_result({.compute = 9.5}, 2));
  const Reason reason = reason_of(maker.run, "E3");
  EXPECT_THAT(reason.evidence, AllOf(HasSubstr("64 samples per device"), HasSubstr("9.0 ms of each step do not depend on")));
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
  // Free-running ranks take different shares of the work.
  row.result.traits["pace"] = "free";
  EXPECT_EQ(reason_of(maker.run, "E5").rule, "");
}

TEST(Explain, E5IsOfAllRepeatsAndOfKnownParts) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Row& row = maker.add("together", 2, seed, step_result({.compute = 10, .waiting = 3}, 2));
    row.result.ranks[1].compute *= 1.2;
    row.result.ranks[1].waiting -= 0.2;
  }
  const std::string evidence = reason_of(maker.run, "E5").evidence;
  EXPECT_THAT(evidence, HasSubstr("rank 1 takes 20 % longer to compute than the other, which waits for 23 % of the step"));
  // Slow in one repeat of three is 7 % on average.
  for (const std::size_t at : {0, 1}) maker.run.rows[at].result = step_result({.compute = 10, .waiting = 3}, 2);
  EXPECT_EQ(reason_of(maker.run, "E5").rule, "");
  RunMaker doubtful;
  Row& row = doubtful.add("together", 2, 1, step_result({.compute = 10, .waiting = 3}, 2));
  row.result.ranks[1].compute *= 1.2;
  EXPECT_EQ(reason_of(doubtful.run, "E5").rule, "") << "its parts are more than its time";
}

TEST(Explain, E5NeedsRanksThatWaitForTheOther) {
  RunMaker maker;
  Row& row = maker.add("together", 4, 1, step_result({.compute = 10, .exchange = 4, .waiting = 2}, 4));
  row.result.ranks[2].compute *= 1.2;
  row.result.ranks[2].exchange -= 0.2;
  EXPECT_EQ(reason_of(maker.run, "E5").rule, "") << "all wait equally long";
  row.result.ranks[2].exchange += 0.2;
  row.result.ranks[2].waiting -= 0.2;
  EXPECT_THAT(reason_of(maker.run, "E5").evidence, HasSubstr("rank 2 takes 20 % longer to compute than the others, which wait for 13 % of the step"));
}

// Both ranks compute and wait alike: none is slower.
TEST(Explain, RanksThatWaitInTurnHaveNoStraggler) {
  RunMaker maker;
  maker.baseline(1, step_result({.compute = 10}, 1));
  Row& row = maker.add("together", 2, 1, step_result({.compute = 6, .exchange = 0.1, .waiting = 3, .bytes = 1e6}, 2));
  row.result.ranks[1].compute += 0.01;
  row.result.ranks[1].waiting -= 0.01;
  EXPECT_EQ(reason_of(maker.run, "E5").rule, "");
  EXPECT_THAT(reason_of(maker.run, "E9").evidence, AllOf(HasSubstr("32 % of the step is waiting"), HasSubstr("none is a straggler")));
  EXPECT_THAT(why_not_text(compare_rows(maker.run)), HasSubstr("32 % of its time is waiting for each other in turn"));
  row.result.ranks[1].compute += 1.5 * kSteps / 1e3;
  row.result.ranks[1].waiting -= 1.5 * kSteps / 1e3;
  EXPECT_EQ(reason_of(maker.run, "E9").rule, "") << "rank 1 is slower";
  EXPECT_THAT(why_not_text(compare_rows(maker.run)), HasSubstr("waiting for other ranks"));
}

// Reaches 97 % at the end of the epoch of this number.
void reach(Row& row, std::size_t epoch, double seconds) {
  row.result.epochs.assign(6, {.accuracy = 0.9});
  for (std::size_t k = epoch - 1; k < 6; ++k) row.result.epochs[k].accuracy = 0.97;
  row.result.seconds_to_target = seconds;
}

TEST(Explain, E6SetsLearningAgainstSpeed) {
  RunMaker maker;
  reach(maker.baseline(1, step_result({.compute = 20}, 1)), 4, 8);
  reach(maker.add("together", 2, 1, step_result({.compute = 10}, 2)), 6, 6);
  EXPECT_THAT(reason_of(maker.run, "E6").evidence,
              HasSubstr("2.00 times the samples/s of one device, but only 1.33 times as fast to 97 %: it needs 1.50 times as many epochs."));
  EXPECT_EQ(reason_of(maker.run, "E8").rule, "");
  maker.run.rows.back().result.seconds_to_target = 8;
  EXPECT_THAT(reason_of(maker.run, "E6").evidence, HasSubstr("1.50 times as many epochs, and up to the target its samples/s are lower"));
}

// The repeat that missed the target was slow, too: its samples/s are not set against the time of the other.
TEST(Explain, E6IsOfRepeatsThatReachedTheTarget) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    reach(maker.baseline(seed, step_result({.compute = 20}, 1)), 4, 8);
    reach(maker.add("together", 2, seed, step_result({.compute = seed == 1 ? 19.0 : 7.0}, 2)), 4, seed == 1 ? 7.6 : 0);
  }
  EXPECT_THAT(rules(maker.run), testing::Not(testing::Contains("E6")));
  EXPECT_THAT(rules(maker.run), testing::Not(testing::Contains("E8")));
}

TEST(Explain, E6NeedsEpochsThatDiffer) {
  RunMaker maker;
  reach(maker.baseline(1, step_result({.compute = 20}, 1)), 4, 8);
  Row& row = maker.add("together", 2, 1, step_result({.compute = 10}, 2));
  reach(row, 4, 7);
  row.result.epochs[2].accuracy = 0.8999;
  EXPECT_EQ(reason_of(maker.run, "E6").rule, "");
}

// The first epochs of the row are slower than its others: that is no matter of learning.
TEST(Explain, E6IsOfEpochsOnly) {
  RunMaker maker;
  reach(maker.baseline(1, step_result({.compute = 20}, 1)), 4, 8);
  reach(maker.add("together", 2, 1, step_result({.compute = 10}, 2)), 4, 7);
  EXPECT_EQ(reason_of(maker.run, "E6").rule, "");
  EXPECT_THAT(reason_of(maker.run, "E8").evidence,
              AllOf(HasSubstr("but only 1.14 times as fast to 97 %, although it needs no more epochs: up to the target its samples/s are lower"),
                    testing::Not(HasSubstr("needs more"))));
}

// A row with the baseline's batch needs no other learning rate.
TEST(Explain, E6AdvisesByPromiseAndBatch) {
  const auto action = [](const std::string& promise, bool weak, bool normalises = false) {
    RunMaker maker;
    reach(maker.baseline(1, step_result({.compute = 20}, 1)), 4, 8);
    Row& row = maker.add("together", 2, 1, step_result({.compute = 10}, 2), weak ? 256 : 128);
    row.trial.scaling = weak ? ScalingMode::weak : ScalingMode::strong;
    reach(row, 6, 6);
    row.result.traits["promise"] = promise;
    if (normalises) {
      Config config = *row.config;
      config.model.layers.emplace_back().type = LayerType::batch_norm;
      row.config = std::make_shared<const Config>(config);
    }
    return reason_of(maker.run, "E6").action;
  };
  const auto rate = HasSubstr("Tune the learning rate"), staleness = HasSubstr("staleness");
  EXPECT_THAT(action("exact", true), AllOf(rate, testing::Not(staleness)));
  EXPECT_THAT(action("approximate", false), AllOf(staleness, testing::Not(rate)));
  EXPECT_THAT(action("approximate", true), AllOf(rate, staleness));
  EXPECT_THAT(action("approximate", false, true), AllOf(HasSubstr("batch_norm: sync"), testing::Not(rate)));
  EXPECT_THAT(action("exact", false), AllOf(HasSubstr("mgcompare verify"), testing::Not(rate)));
}

TEST(Explain, E10TellsWhyARowWithoutATimeToTheTargetIsLessAccurate) {
  const auto reason = [](const std::string& promise, double accuracy, std::uint64_t updates) {
    RunMaker maker;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      Row& base = maker.baseline(seed, step_result({.compute = 20}, 1));
      base.result.accuracy = 0.94;
      base.result.updates = 1000;
      Row& row = maker.add("together", 2, seed, step_result({.compute = 10, .bytes = 1000}, 2));
      row.result.accuracy = accuracy;
      row.result.seconds_to_target = 0;
      row.result.updates = updates;
      row.result.traits["promise"] = promise;
    }
    return reason_of(maker.run, "E10");
  };
  const Reason lost = reason("approximate", 0.71, 1000);
  EXPECT_THAT(lost.evidence, HasSubstr("accuracy 0.7100 against 0.9400 of one device after as many epochs, in which it made as many updates."));
  EXPECT_THAT(lost.action, AllOf(HasSubstr("tune the approximation"), HasSubstr("`variants`")));
  EXPECT_THAT(reason("approximate", 0.71, 500).evidence, HasSubstr("made 0.50 times as many updates."));
  EXPECT_THAT(reason("approximate", 0.71, 0).evidence, HasSubstr("after as many epochs."));
  EXPECT_THAT(reason("exact", 0.71, 1000).action, HasSubstr("mgcompare verify"));
  EXPECT_EQ(reason("approximate", 0.937, 1000).rule, "") << "less than half a point";
}

// Its time to the target, with E6, says it already.
TEST(Explain, E10IsNotOfARowThatReachedTheTarget) {
  RunMaker maker;
  reach(maker.baseline(1, step_result({.compute = 20}, 1)), 4, 8);
  maker.run.rows.back().result.accuracy = 0.99;
  Row& row = maker.add("together", 2, 1, step_result({.compute = 10}, 2));
  reach(row, 6, 6);
  row.result.accuracy = 0.95;
  EXPECT_EQ(reason_of(maker.run, "E10").rule, "");
}

TEST(Explain, E7CountsThreadsAndCores) {
  RunMaker maker;
  maker.add("together", 4, 1, step_result({.compute = 10}, 4));
  maker.run.info.environment.emplace_back("cpu cores", "2 physical, 4 logical");
  EXPECT_THAT(reason_of(maker.run, "E7").evidence, HasSubstr("4 threads on 2 physical cores"));
  maker.run.info.environment.back().second = "8 physical, 8 logical";
  EXPECT_EQ(reason_of(maker.run, "E7").rule, "");
  maker.run.info.environment.emplace_back("load before the run", "6.00");
  EXPECT_THAT(reason_of(maker.run, "E7").evidence, HasSubstr("the load average of the minute before the run, which may include an earlier run, was 6.00"));
}

TEST(Explain, E8BracketsWithTheBaseline) {
  RunMaker maker;
  for (const double rate : {1000.0, 1010.0, 900.0, 905.0}) {
    Row& row = maker.baseline(maker.run.rows.size() + 1, make_result(rate, 8, 0.98));
    row.started = "2024-05-01T12:0" + std::to_string(row.position) + ":00Z";
    row.finished = "2024-05-01T12:0" + std::to_string(row.position) + ":30Z";
  }
  const Comparison comparison = compare_rows(maker.run);
  const std::vector<SpeedDrift> found = drifts(comparison);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].change, -110 / 1010.0, 1e-9);
  EXPECT_THAT(reason_of(maker.run, "E8").evidence,
              HasSubstr("Between 2024-05-01T12:01:00Z and 2024-05-01T12:02:30Z the samples/s of alone cpu:1 batch 128 "
                        "changed by -11 %"));
}

TEST(StepTime, SplitsStepsIntoFixedAndPerSample) {
  RunMaker maker;
  for (const std::size_t batch : {64, 128, 512})
    maker.add("together", 1, 1, step_result({.compute = 2 + 0.01 * static_cast<double>(batch)}, 1, batch), batch);
  const Comparison comparison = compare_rows(maker.run);
  std::vector<const Cell*> cells;
  for (const Cell& cell : comparison.cells) cells.push_back(&cell);
  const std::optional<StepTime> work = fit_work(cells, own_seconds);
  ASSERT_TRUE(work.has_value());
  EXPECT_NEAR(work->fixed, 2e-3, 1e-9);
  EXPECT_NEAR(work->per_sample, 1e-5, 1e-11);
  EXPECT_NEAR(work->error, 0, 1e-9);
  EXPECT_FALSE(fit_work({cells[0]}, own_seconds).has_value());
  // Two devices save 5 us per sample, so 1 ms of exchange is compensated by 200 samples.
  EXPECT_NEAR(*break_even_batch(*work, 1e-3, 2), 200, 1e-6);
  EXPECT_FALSE(break_even_batch(*work, 1e-3, 1).has_value());
}

// A network that takes 2 ms plus 10 us per sample on all devices. Any further time on two devices is the strategy's
// cost.
mgcompare::Run two_devices(double strategy, double host, std::size_t smallest = 64) {
  RunMaker maker;
  const auto result = [&](std::size_t devices, std::size_t batch, Step step, double own, double outside) {
    step.compute = 2 + 0.01 * static_cast<double>(batch) / static_cast<double>(devices);
    Result made = step_result(step, devices, batch);
    for (RankTimes& rank : made.ranks) rank.strategy += own * kSteps / 1e3, rank.harness += outside * kSteps / 1e3;
    made.seconds_training += (own + outside) * kSteps / 1e3;
    return made;
  };
  for (const std::size_t batch : {2 * smallest, 8 * smallest}) {
    maker.baseline(1, result(1, batch, {}, 0, 0.1), batch);
    maker.add("together", 2, 1, result(2, batch, {.exchange = 1, .bytes = 1e6}, strategy, 0.1 + host), batch);
  }
  return maker.run;
}

std::vector<std::string> break_even(const mgcompare::Run& run) {
  const Table table = break_even_table(compare_rows(run));
  return table.lines.empty() ? std::vector<std::string>{} : table.lines.front();
}

// Two devices save 5 us per sample. If the strategy's own 0.6 ms counted as compute, a sample would appear more
// expensive on one device and cheaper on two.
TEST(BreakEven, CountsAllThatStrategiesDoAsCost) {
  const auto line = [](double strategy, double host) { return break_even(two_devices(strategy, host)); };
  EXPECT_THAT(line(0, 0), testing::ElementsAre("together", "cpu:2", "200", "1.0 ms", "10.00 us", "4", "0.0 %"));
  EXPECT_THAT(line(0.6, 0), testing::ElementsAre("together", "cpu:2", "320", "1.6 ms", "10.00 us", "4", "0.0 %"));
  EXPECT_THAT(line(0.6, 0.4), testing::ElementsAre("together", "cpu:2", "400", "2.0 ms", "10.00 us", "4", "0.0 %"));
}

TEST(BreakEven, DoesNotGoBelowWhatWasMeasured) {
  EXPECT_EQ(break_even(two_devices(0, 0, 128)).at(2), "below 256");
}

TEST(BreakEven, TakesNoPartsThatAnOlderProgramInferred) {
  mgcompare::Run run = two_devices(0, 0);
  run.rows.back().result.compute_is_remainder = true;
  run.rows.back().result.ranks[0].compute += 0.1, run.rows.back().result.ranks[0].exchange -= 0.1;
  EXPECT_EQ(break_even(run).at(4), "10.00 us");
  for (Row& row : run.rows) row.result.compute_is_remainder = true;
  EXPECT_THAT(break_even(run), testing::ElementsAre());
}

}  // namespace
}  // namespace mgcompare
