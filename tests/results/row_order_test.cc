// An order must agree with the interval beside it, and be larger than what the machine makes of equal work.

#include "reports/row_order.h"

#include <gmock/gmock.h>

#include <cmath>

#include "reports/advice.h"
#include "reports/answer.h"
#include "reports/batch_range.h"
#include "reports/copies.h"
#include "reports/further_repeats.h"
#include "reports/machine_doubt.h"
#include "reports/regression.h"
#include "reports/summary.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Of a run on a busy machine: the rank test tells the rows apart, but two of nine seeds say the opposite.
const std::vector<double> kSlow = {0.1238, 0.1228, 0.0566, 0.1948, 0.2261, 0.1710, 0.1656, 0.0982, 0.0550};
const std::vector<double> kFast = {0.0842, 0.0525, 0.0266, 0.0498, 0.0509, 0.0873, 0.1151, 0.1082, 0.0732};

// Seconds to the target. `by_speed`: the samples/s follow them, and then the machine's speed changes from one run of the baseline to the next.
mgcompare::Run run_of(const std::vector<double>& one, const std::vector<double>& two, bool by_speed = false) {
  RunMaker maker;
  for (std::size_t i = 0; i < one.size(); ++i) {
    maker.baseline(i + 1, make_result(by_speed ? 100 / one[i] : 1000, one[i], 0.98));
    maker.add("together", 2, i + 1, make_result(by_speed ? 100 / two[i] : 1000, two[i], 0.98));
  }
  return maker.run;
}

// Costs are those of the whole training: twice the time on two devices.
std::vector<double> scaled_by(std::vector<double> values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

TEST(RowOrder, IsUndecidedWhereTheIntervalIncludesOne) {
  ASSERT_EQ(compare(spread_of(kFast), spread_of(kSlow)), Order::below) << "the rank test alone decides";
  const mgcompare::Run faster = run_of(kSlow, kFast), slower = run_of(kFast, kSlow);
  const Comparison one = compare_rows(faster), other = compare_rows(slower);
  EXPECT_EQ(answer(one).verdict, "Whether several devices pay is undecided");
  EXPECT_THAT(answer(one).grounds, AllOf(HasSubstr("1.96 [0.91 .. 3.91] times"), EndsWith("; the interval, seed by seed, includes 1")));
  EXPECT_EQ(answer(other).verdict, "No gain seen");
  EXPECT_THAT(answer(other).grounds, EndsWith("; undecided: the interval, seed by seed, includes 1"));
  EXPECT_EQ(advice_text(one), "What to do: repeat more before choosing (run --until-decided)");
  EXPECT_THAT(advice_text(other), EndsWith(", unless more repeats show a gain"));
  const mgcompare::Run by_speed = run_of(kSlow, kFast, true);
  EXPECT_THAT(answer(compare_rows(by_speed, Objective::throughput)).grounds, HasSubstr("; the interval, seed by seed, includes 1, and the machine's speed changed"));
  // By cost two devices are cheaper only if they are more than twice as fast.
  const mgcompare::Run cheaper = run_of(kSlow, scaled_by(kFast, 0.5));
  const Comparison cost = compare_rows(cheaper, Objective::device_seconds);
  EXPECT_EQ(contest(cost)->order, Order::undecided);
  EXPECT_THAT(answer(cost).verdict, StartsWith("Whether several devices pay is undecided"));
}

TEST(RowOrder, IsTheSameInTablesAndRankings) {
  const mgcompare::Run run = run_of(kSlow, kFast, true);
  const Comparison comparison = compare_rows(run);
  for (const Cell& cell : comparison.cells) EXPECT_EQ(cell.order, Order::undecided) << cell.name;
  EXPECT_THAT(closing_summary(run, {}), HasSubstr("\n    1.96 [0.91 .. 3.91] times as fast as alone on 1 CPU core, batch 128; undecided: the interval, seed by "
                                                  "seed, includes 1 (throughput alone: 1.96x)\n"));
}

TEST(RowOrder, OfTwoRunsFollowsTheIntervalToo) {
  // Ten repeats each: the rank test decides at 5 %, and the interval of the ratio reaches 1.
  const auto run = [](const std::vector<double>& rates) {
    RunMaker maker;
    for (std::size_t i = 0; i < rates.size(); ++i) maker.add("together", 2, i + 1, make_result(rates[i], 5, 0.98));
    return maker.run;
  };
  const std::vector<double> before = {100, 101, 102, 103, 114, 115, 116, 117, 118, 119}, after = {90, 91, 92, 93, 94, 95, 106, 107, 108, 109};
  const mgcompare::Run one = run(before), other = run(after);
  const Comparison first = compare_rows(one), second = compare_rows(other);
  const Regression regression = compare_runs(first, second);
  const FigureChange& speed = regression.rows.at(0).speed;
  ASSERT_EQ(compare(spread_of(after), spread_of(before)), Order::below);
  ASSERT_TRUE(includes_one(speed.ratio)) << speed.ratio.low << " to " << speed.ratio.high;
  EXPECT_EQ(speed.absolute, Change::undecided);
}

TEST(RowOrder, NeedsAsManyRepeatsAsTheIntervalDoes) {
  const Spread slow = spread_of(kSlow), fast = spread_of(kFast);
  // p = 0.828, (1.960 + 0.842)^2 / (6 * 0.328^2) = 12.1.
  EXPECT_EQ(further_repeats(slow, fast, 1).more, 13u - 9u);
  // Logarithms -0.3 and 0.9: mean 0.3, deviation 0.849; 1.571 (1.960 + 0.842)^2 (0.849 / 0.3)^2 = 98.7.
  EXPECT_EQ(further_repeats(slow, fast, 1, spread_of({std::exp(-0.3), std::exp(0.9)})).more, 99u - 9u);
  // Their own are -0.29 to 1.49, which need 11.7.
  const mgcompare::Run run = run_of(kSlow, kFast);
  EXPECT_EQ(further_repeats(compare_rows(run)).more, 13u - 9u);
  EXPECT_TRUE(needs_repeats(compare_rows(run)));
}

// One device, two devices `gain` times as fast, and a copy of the baseline that is `off` times as fast as it.
mgcompare::Run copied(double gain, double off, std::uint64_t seeds = 3) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const double noise = 1 + 0.002 * static_cast<double>(seed);
    maker.baseline(seed, make_result(1000 * noise, 8 / noise, 0.98));
    maker.add("together", 2, seed, make_result(1000 * gain * noise, 8 / gain / noise, 0.98));
    maker.add("together", 1, seed, make_result(1000 * off * noise, 8 / off / noise, 0.98)).result.bytes_per_step = 0;
  }
  return maker.run;
}

TEST(AACheck, ThatIsFartherThanTheAnswerLeavesItUndecided) {
  for (const Objective objective : {Objective::time_to_accuracy, Objective::throughput}) {
    for (const double off : {2.7, 1 / 2.7}) {
      const mgcompare::Run run = copied(1.6, off);
      const Comparison comparison = compare_rows(run, objective);
      EXPECT_EQ(answer(comparison).verdict, "A gain is seen, but not confirmed");
      EXPECT_THAT(answer(comparison).grounds, EndsWith("; undecided: the A/A check is off by a factor of 2.70"));
      EXPECT_EQ(advice_text(comparison), "What to do: measure again while nothing else uses the machine, because the A/A check is off by a factor of 2.70");
      EXPECT_FALSE(needs_repeats(comparison)) << "they do not mend the machine";
      EXPECT_EQ(no_repeats_text(comparison), "measure again while nothing else uses the machine, because the A/A check is off by a factor of 2.70");
      EXPECT_THAT(closing_summary(run, {}, objective), Not(HasSubstr("more repeat")));
    }
  }
  // Small differences are those of the machine, too, and so is a loss.
  for (const auto& [gain, off] : {std::pair{1.05, 1.06}, std::pair{0.9, 1.15}, std::pair{0.8, 0.75}}) {
    const mgcompare::Run run = copied(gain, off);
    EXPECT_TRUE(contest(compare_rows(run))->is_by_machine) << gain << ", " << off;
    EXPECT_THAT(answer(compare_rows(run)).grounds, HasSubstr("undecided: the A/A check is off by a factor of")) << gain << ", " << off;
  }
  // Two devices are 1.6 times as fast, so they cost 1.25 times as much.
  EXPECT_TRUE(contest(compare_rows(copied(1.6, 1.3), Objective::device_seconds))->is_by_machine);
  EXPECT_EQ(contest(compare_rows(copied(1.6, 1.2), Objective::device_seconds))->order, Order::below);
}

TEST(AACheck, ThatIsNearerIsADoubtOrNone) {
  EXPECT_EQ(answer(compare_rows(copied(1.6, 1.3))).verdict, "Several devices are faster, though the A/A check is off by a factor of 1.30");
  EXPECT_EQ(answer(compare_rows(copied(1.6, 1.05))).verdict, "Several devices are faster");
  // Copies with fewer than three repeats decide nothing.
  mgcompare::Run run = copied(1.6, 2.7);
  std::erase_if(run.rows, [](const Row& row) { return row.trial.strategy.name == "together" && row.trial.devices == 1 && row.trial.seed == 3; });
  EXPECT_EQ(answer(compare_rows(run)).verdict, "Several devices are faster");
}

TEST(AACheck, DoesNotTakeASlowStrategyForASlowMachine) {
  RunMaker maker;
  maker.run = copied(1.6, 1.01);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) maker.add("slow", 1, seed, make_result(400, 20, 0.98)).result.bytes_per_step = 0;
  EXPECT_EQ(answer(compare_rows(maker.run)).verdict, "Several devices are faster");
  // Without a copy that agrees, it may be the machine.
  std::erase_if(maker.run.rows, [](const Row& row) { return row.trial.strategy.name == "together" && row.trial.devices == 1; });
  EXPECT_EQ(answer(compare_rows(maker.run)).verdict, "A gain is seen, but not confirmed");
}

TEST(AACheck, IsOfTheSameBaseline) {
  RunMaker maker;
  maker.run = copied(1.6, 1.01);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, make_result(500, 20, 0.98), 32);
    maker.add("together", 2, seed, make_result(600, 18, 0.98), 32);
    maker.add("together", 1, seed, make_result(1500, 7, 0.98), 32).result.bytes_per_step = 0;
  }
  EXPECT_EQ(answer(compare_rows(maker.run)).verdict, "Several devices are faster");
  EXPECT_EQ(batch_range_text(compare_rows(maker.run)),
            "By samples/s, several devices are faster than one at batch 128; a gain of several devices is seen, but not confirmed, at batch 32");
}

TEST(AACheck, IsByTheFigureOfTheAnswer) {
  // The copy is as fast by samples/s, but needs a third of the time to the target.
  mgcompare::Run run = copied(1.6, 1);
  for (Row& row : run.rows)
    if (row.trial.strategy.name == "together" && row.trial.devices == 1) row.result.seconds_to_target /= 3;
  EXPECT_THAT(answer(compare_rows(run)).grounds, EndsWith("; undecided: the A/A check is off by a factor of 3.00"));
  EXPECT_THAT(closing_summary(run, {}),
              HasSubstr("A/A check: together on 1 CPU core, batch 128 does what the baseline does, 3.00 [3.00 .. 3.00] times as fast to 97 %"));
  EXPECT_EQ(answer(compare_rows(run, Objective::throughput)).verdict, "Several devices are faster");
}

TEST(AACheck, AppliesToRivals) {
  const std::string text = closing_summary(copied(1.6, 2.7), {});
  EXPECT_THAT(text, HasSubstr("times as fast as alone on 1 CPU core, batch 128; undecided: the A/A check is off by as much (a factor of 2.70)"));
  for (const Cell& cell : compare_rows(copied(1.6, 2.7)).cells) EXPECT_EQ(cell.order, Order::undecided) << cell.name;
}

// An exact strategy on one rank trains what the baseline trains: it cannot win, however fast it was.
TEST(AACheck, IsOfCopiesOfTheBaselineWhichAreNoContenders) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, make_result(1000, 5, 0.98));
    maker.add("together", 1, seed, make_result(1100, 4, 0.98));
    maker.add("together", 2, seed, make_result(1050, 4.5, 0.98));
    maker.add("rough", 1, seed, make_result(900, 6, 0.98));
  }
  for (Row& row : maker.run.rows) {
    row.result.traits["promise"] = row.trial.strategy.name == "rough" ? "approximate" : "exact";
    if (row.trial.devices == 1) row.result.bytes_per_step = 0;
  }
  const std::string text = closing_summary(maker.run, {}, Objective::throughput);
  EXPECT_THAT(text, HasSubstr("\ntogether on 2 CPU cores, batch 128 trained fastest"));
  EXPECT_THAT(text, HasSubstr("\nA/A check: together on 1 CPU core, batch 128 does what the baseline does, at 1.10 [1.10 .. 1.10] times its samples/s\n"));
  EXPECT_EQ(compare_rows(maker.run).ranking.size(), 3u) << "alone, together on two, rough";
  RunMaker noisy = maker;
  for (Row& row : noisy.run.rows)
    if (row.trial.strategy.name == "together" && row.trial.devices == 1) row.result.samples_per_second *= 1.2;
  EXPECT_THAT(closing_summary(noisy.run, {}, Objective::throughput),
              HasSubstr("times its samples/s; differences of that size between other rows may be due to the machine\n"));
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.add("other", 1, seed, make_result(970, 5, 0.98));
    maker.add("through the host", 1, seed, make_result(500, 10, 0.98));
  }
  for (Row& row : maker.run.rows) {
    const std::string& name = row.trial.strategy.name;
    if (name == "other" || name == "through the host") row.result.traits["promise"] = "exact";
    if (name == "other") row.result.bytes_per_step = 0;
  }
  EXPECT_THAT(closing_summary(maker.run, {}, Objective::throughput),
              HasSubstr("\nA/A check: 2 exact rows on one device do what the baseline does, at 0.97 to 1.10 times its samples/s; the farthest is together on 1"));
}

TEST(NoRepeats, SaysWhatAnAnswerNeedsInstead) {
  EXPECT_EQ(no_repeats_text(compare_rows(three_by_three())), "the answer is decided");
  EXPECT_EQ(no_repeats_text(Overview(std::vector<Comparison>(2, compare_rows(three_by_three())))), "all answers are decided");
  const mgcompare::Run missing = run_of({10, 10.1, 10.2, 10.3}, {5, 5.1, 5.2, 0});
  EXPECT_EQ(no_repeats_text(compare_rows(missing)),
            "they are not expected to decide, because the better row reached 97 % in 3 of 4 repeats, and the other in 4 of 4");
  const mgcompare::Run same = run_of(std::vector<double>(9, 10), std::vector<double>(9, 10));
  EXPECT_EQ(no_repeats_text(compare_rows(same)), "More repeats are not expected to decide: the difference is too small to matter");
  RunMaker alone;
  alone.baseline(1, make_result(1000, 8, 0.98));
  EXPECT_THAT(no_repeats_text(compare_rows(alone.run)), StartsWith("they would not change the answer (Whether several devices pay is not known yet: "));
}

TEST(AboveIdeal, IsExplained) {
  const auto text = [](double gain, double off = 1) { return closing_summary(copied(gain, off), {}); };
  EXPECT_THAT(text(2.1),
              HasSubstr("\nMore than ideal: the efficiency of together on 2 CPU cores, batch 128 is 105 % [105 % .. 105 %]. Usually the smaller share of the "
                        "batch on each device fits its cache, or the library uses another algorithm for it; repeat the run to rule out the machine\n"));
  EXPECT_THAT(text(2.1, 1.07), HasSubstr(". The A/A check is off by as much, so it may be the machine\n"));
  EXPECT_THAT(text(2.02), Not(HasSubstr("More than ideal")));
  EXPECT_THAT(text(1.6), Not(HasSubstr("More than ideal")));
  mgcompare::Run noisy = copied(2.1, 1);
  noisy.rows[1].result.samples_per_second /= 1.2;
  EXPECT_THAT(closing_summary(noisy, {}), Not(HasSubstr("More than ideal")));
}

}  // namespace
}  // namespace mgcompare
