#include "reports/answer.h"
#include "reports/marks.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

#include "plan/least_bytes.h"
#include "reports/csv.h"
#include "reports/failures.h"
#include "reports/findings.h"
#include "reports/html.h"
#include "reports/markdown.h"
#include "reports/overview_findings.h"
#include "reports/prediction.h"
#include "reports/regression.h"
#include "reports/summary.h"
#include "results/runs.h"
#include "results/weight_sketch.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Result with_weights(Result result, double moved, double loss = 0.2) {
  for (std::size_t i = 0; i < result.epochs.size(); ++i) {
    result.epochs[i].sketch = weights(moved, i);
    result.epochs[i].loss = loss;
  }
  return result;
}

// Two devices, 1.6 times as fast as the baseline, in each of three seeds; the last seed's second epoch is `moved`.
mgcompare::Run run_with(double moved, bool has_control = true, double loss = 0.2) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const double noise = 1 + 0.01 * static_cast<double>(seed);
    maker.baseline(seed, with_weights(make_result(1000 * noise, 8, 0.985), 0));
    Row& row = maker.add("together", 2, seed, with_weights(make_result(1600 * noise, 5, 0.984), 0.001));
    if (seed < 3) continue;
    row.result.epochs[1].sketch = weights(moved, 1);
    row.result.epochs[1].loss = loss;
  }
  if (has_control) {
    Row& control = maker.baseline(1, with_weights(make_result(10, 0, 0.985), 0.002));
    control.trial.control = true;
    control.trial.block = 0;
  }
  return maker.run;
}

TEST(Marks, ATrainingThatChangesNothingIsNotRanked) {
  mgcompare::Run run = run_with(0.001);
  const auto row = std::find_if(run.rows.begin(), run.rows.end(), [](const Row& row) { return row.trial.devices == 2; });
  EXPECT_FALSE(is_marked(marks_of(*row, {}), MarkKind::same_weights));
  row->result.epochs[1].sketch = row->result.epochs[0].sketch;
  const std::vector<Mark> marks = marks_of(*row, {});
  EXPECT_TRUE(is_marked(marks, MarkKind::same_weights));
  EXPECT_TRUE(is_disqualified(marks));
  EXPECT_THAT(closing_summary(run, {}), HasSubstr("Every epoch ended with the same weights: together"));
}

std::string terminal(const mgcompare::Run& run) { return closing_summary(run, {}); }

TEST(Marks, ABrokenPromiseIsInAllOutputsAndNeverWins) {
  const mgcompare::Run run = run_with(1);
  const Comparison comparison = compare_rows(run);
  const Cell& together = comparison.cells[1];
  EXPECT_EQ(together.promise.state, PromiseState::broken);
  EXPECT_EQ(together.promise.epoch, 2u);
  EXPECT_TRUE(together.is_disqualified());
  EXPECT_EQ(comparison.ranking, std::vector<std::size_t>{0}) << "the baseline only";
  EXPECT_EQ(best_on_several(comparison), nullptr);
  EXPECT_EQ(answer(comparison).grounds, "every row on several devices has a mark that excludes it");
  EXPECT_THAT(findings(comparison).front().text, Not(HasSubstr("together")));
  EXPECT_TRUE(predict(comparison, {4}).empty());
  const std::string sentence = "breaks its promise: it is exact, but in epoch 2 its weights differ";
  EXPECT_THAT(terminal(run), AllOf(HasSubstr(sentence), HasSubstr("together !"), HasSubstr("promise broken in epoch 2")));
  EXPECT_THAT(markdown_report(comparison, ""), AllOf(HasSubstr("breaks its promise"), HasSubstr("exact (promise broken in epoch 2)")));
  EXPECT_THAT(html_report(comparison, ""), AllOf(HasSubstr("breaks its promise"), HasSubstr("promise broken in epoch 2")));
  EXPECT_THAT(csv_report(run), AllOf(HasSubstr("broken,2,promise broken in epoch 2"), HasSubstr("kept,,,")));
  const auto json = nlohmann::json::parse(json_text(run));
  EXPECT_EQ(json["rows"][1]["promise_check"]["epoch"], 2);
  EXPECT_EQ(json["rows"][1]["marks"][0], "promise broken in epoch 2");
  EXPECT_EQ(json["trials"][5]["promise_check"]["state"], "broken");
  EXPECT_EQ(json["trials"][1]["promise_check"]["state"], "kept");
}

TEST(Marks, ALossThatDepartsBreaksThePromise) {
  const mgcompare::Run run = run_with(0.001, true, 0.1);
  const Comparison comparison = compare_rows(run);
  EXPECT_EQ(comparison.cells[1].promise.state, PromiseState::broken);
  EXPECT_THAT(terminal(run), HasSubstr("in epoch 2 its training loss differs"));
}

TEST(Marks, TrainingsThatRoundingDecidesAreNotJudged) {
  mgcompare::Run by_control = run_with(1, true, 3);
  for (Row& row : by_control.rows)
    if (row.trial.control) row.result.epochs[1].loss = 0.23;
  EXPECT_EQ(compare_rows(by_control).cells[1].promise.state, PromiseState::kept) << "in the first epoch";
  mgcompare::Run by_baseline = run_with(1, true, 3);
  for (Row& row : by_baseline.rows)
    if (row.trial.seed == 3 && row.trial.devices == 1) row.result.epochs[1].loss = 0.21;
  EXPECT_EQ(compare_rows(by_baseline).cells[1].promise.state, PromiseState::kept);
}

TEST(Marks, WeightsThatAreNotFiniteBreakThePromise) {
  mgcompare::Run run = run_with(0.001);
  run.rows[5].result.epochs[1].sketch = sketch_of(std::vector<float>(100, std::numeric_limits<float>::quiet_NaN()));
  const Comparison comparison = compare_rows(run);
  EXPECT_EQ(comparison.cells[1].promise.state, PromiseState::broken);
  EXPECT_EQ(nlohmann::json::parse(json_text(run))["trials"][5]["promise_check"]["epoch"], 2);
  EXPECT_THAT(terminal(run), HasSubstr("in epoch 2 its weights"));
}

TEST(Marks, TheControlSetsTheBoundAndIsInNoFigure) {
  const mgcompare::Run honest = run_with(0.012);
  const Comparison comparison = compare_rows(honest);
  EXPECT_EQ(comparison.cells[1].promise.state, PromiseState::kept);
  EXPECT_TRUE(comparison.cells[1].marks.empty());
  EXPECT_EQ(comparison.cells[0].done.size(), 3u) << "the control is no repeat";
  EXPECT_EQ(comparison.cells[0].samples_per_second.least, 1010) << "nor in a figure";
  EXPECT_EQ(comparison.cells.size(), 2u);
  // Without a control, or with results of an older version, nothing is claimed.
  const mgcompare::Run alone = run_with(1, false);
  EXPECT_EQ(compare_rows(alone).cells[1].promise.state, PromiseState::unchecked);
  mgcompare::Run old = run_with(1);
  for (Row& row : old.rows)
    for (EpochResult& epoch : row.result.epochs) epoch.sketch.clear();
  EXPECT_EQ(compare_rows(old).cells[1].promise.state, PromiseState::unchecked);
  EXPECT_THAT(csv_report(old), HasSubstr("not checked,,"));
}

TEST(Marks, OneModelOnSeveralRanksSendsSomething) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, make_result(1000, 8, 0.985)).result.bytes_per_step = 0;
    maker.add("together", 2, seed, make_result(1600, 5, 0.984)).result.bytes_per_step = 0;
    maker.ceiling(2, seed, make_result(1900, 0, 0.97)).result.bytes_per_step = 0;
  }
  const Comparison comparison = compare_rows(maker.run);
  for (const Cell& cell : comparison.cells)
    EXPECT_EQ(cell.is_marked(MarkKind::sent_nothing), cell.name.starts_with("together")) << cell.name;
  EXPECT_EQ(comparison.ranking, std::vector<std::size_t>{0});
  EXPECT_THAT(terminal(maker.run), HasSubstr("sent no counted bytes: together on 2 CPU cores"));
  EXPECT_THAT(csv_report(maker.run), HasSubstr(",sent nothing,"));
}

TEST(Marks, ExactExchangesHaveALeastSize) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, make_result(1000, 8, 0.985));
    Result& hidden = maker.add("together", 2, seed, make_result(1600, 5, 0.984)).result;
    hidden.samples_due = hidden.samples;
    hidden.bytes_per_step = 0.01;
  }
  const Comparison comparison = compare_rows(maker.run);
  EXPECT_TRUE(comparison.cells[1].is_marked(MarkKind::sent_too_little));
  EXPECT_FALSE(comparison.cells[1].is_marked(MarkKind::sent_nothing));
  EXPECT_EQ(comparison.ranking, std::vector<std::size_t>{0});
  EXPECT_THAT(terminal(maker.run), HasSubstr("fewer than any exact exchange needs: together on 2 CPU cores"));
  for (Row& row : maker.run.rows) row.result.samples_due = 0;
  EXPECT_FALSE(compare_rows(maker.run).cells[1].is_marked(MarkKind::sent_too_little)) << "a result of an older version";
}

TEST(Marks, IgnoredSamplesExclude) {
  mgcompare::Run run = three_by_three();
  for (Row& row : run.rows)
    if (row.trial.devices == 2) row.result.samples_ignored = static_cast<std::int64_t>(row.result.samples / 2);
  const Comparison comparison = compare_rows(run);
  EXPECT_TRUE(comparison.cells[1].is_disqualified());
  EXPECT_THAT(terminal(run), HasSubstr("whose gradients nothing read: together on 2"));
  EXPECT_THAT(csv_report(run), HasSubstr("learned nothing from 50 % of its samples"));
}

TEST(Marks, StatisticsThatDepartBreakThePromise) {
  mgcompare::Run run = run_with(0.001);
  for (Row& row : run.rows)
    for (EpochResult& epoch : row.result.epochs) epoch.statistics_sketch = weights(0.001);
  EXPECT_EQ(compare_rows(run).cells[1].promise.state, PromiseState::kept);
  run.rows[5].result.epochs[1].statistics_sketch = weights(1);
  const Comparison comparison = compare_rows(run);
  EXPECT_EQ(comparison.cells[1].promise.state, PromiseState::broken);
  EXPECT_EQ(comparison.cells[1].promise.what, "statistics");
  EXPECT_THAT(terminal(run), HasSubstr("in epoch 2 its statistics of batch normalisation differ"));
}

// Where a loss rises again, rounding decides: a spike of the baseline, or of one repeat, proves nothing.
TEST(Marks, AnUnstableTrainingBreaksNoPromise) {
  const auto with_losses = [](std::vector<std::size_t> rows, std::vector<double> losses) {
    mgcompare::Run run = run_with(0.001);
    for (const std::size_t row : rows)
      for (std::size_t i = 0; i < losses.size(); ++i) run.rows[row].result.epochs[i].loss = losses[i];
    return run;
  };
  const std::vector<double> spike = {0.2, 0.5};
  ASSERT_EQ(run_with(0.001).rows[4].trial.seed, 3u);
  EXPECT_EQ(compare_rows(with_losses({4}, spike)).cells[1].promise.state, PromiseState::kept) << "of the baseline's third repeat";
  const mgcompare::Run once = with_losses({5}, spike);
  EXPECT_EQ(compare_rows(once).cells[1].promise.state, PromiseState::unchecked);
  EXPECT_FALSE(compare_rows(once).cells[1].is_disqualified());
  EXPECT_THAT(terminal(once), HasSubstr("1 of 3 repeats departs from the baseline, which rounding can cause"));
  EXPECT_EQ(compare_rows(with_losses({1, 5}, spike)).cells[1].promise.state, PromiseState::broken) << "two of three repeats";
  EXPECT_EQ(compare_rows(with_losses({5}, {0.5, 0.4})).cells[1].promise.state, PromiseState::broken) << "it falls";
}

// Accuracies on few samples depend on rounding far more than the weights.
TEST(Marks, AnAccuracyThatDepartsBreaksNoPromise) {
  mgcompare::Run run = run_with(0.001);
  run.rows[5].result.epochs[1].accuracy = 0.7;
  EXPECT_EQ(compare_rows(run).cells[1].promise.state, PromiseState::kept);
}

TEST(LeastBytes, AreTwoForEachSampleOfTheSmallerSide) {
  EXPECT_EQ(least_bytes_per_step(1000, 100, 10, 2), 5.0);        // 10 bytes of two ranks
  EXPECT_EQ(least_bytes_per_step(1000, 100, 10, 3), 12.0 / 3);   // the largest share has 4 samples
  EXPECT_EQ(least_bytes_per_step(3, 100, 10, 2), 3.0);           // the gradient is shorter
  EXPECT_EQ(least_bytes_per_step(1000, 11, 10, 2), 10.0 / 4);    // the second batch has one sample
  EXPECT_EQ(least_bytes_per_step(1000, 100, 10, 1), 0.0);
  EXPECT_EQ(least_bytes_per_step(1000, 0, 10, 2), 0.0);
}

TEST(Marks, TrainingsOfMillisecondsHaveNoSpeedUp) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, make_result(1000, 8, 0.985));
    Result quick = make_result(32'120, 5, 0.984);  // 1606 % efficiency
    quick.seconds_training = 0.003;
    maker.add("together", 2, seed, quick);
  }
  const Comparison comparison = compare_rows(maker.run);
  EXPECT_TRUE(comparison.cells[1].is_marked(MarkKind::too_short));
  EXPECT_EQ(comparison.cells[1].efficiency.count, 0u);
  EXPECT_EQ(comparison.ranking, std::vector<std::size_t>{0});
  EXPECT_THAT(terminal(maker.run), HasSubstr("Too short to measure (less than 20 ms or 10 steps of training): together on 2 CPU cores"));
  for (Row& row : maker.run.rows) row.result.seconds_training = 0.003;
  const Comparison none = compare_rows(maker.run);
  EXPECT_TRUE(none.ranking.empty());
  EXPECT_THAT(terminal(maker.run), HasSubstr("No row can be ranked"));
  EXPECT_THAT(html_report(none, ""), HasSubstr("No row can be ranked"));
  // A few steps are too few, however long they take.
  maker.run = three_by_three();
  for (Row& row : maker.run.rows) row.result.steps = 9;
  EXPECT_TRUE(compare_rows(maker.run).cells[0].is_marked(MarkKind::too_short));
}

// The baseline was run: that there is none would send its user to the wrong place.
TEST(Marks, ABaselineThatIsTooShortIsNamedAsTheReason) {
  mgcompare::Run run = three_by_three();
  const mgcompare::Run long_enough = run;
  for (Row& row : run.rows)
    if (row.trial.devices == 1) row.result.seconds_training = 0.003;
  const Comparison comparison = compare_rows(run);
  const std::string reason = "the one-device baseline, alone on 1 CPU core, batch 128, was too short to measure: train longer";
  EXPECT_THAT(answer(comparison).grounds, HasSubstr(reason));
  for (const std::string& text : {terminal(run), html_report(comparison, ""), markdown_report(comparison, "")})
    EXPECT_THAT(text, AllOf(HasSubstr(reason), Not(HasSubstr("there is no one-device baseline")), Not(HasSubstr("a strategy that is the one-device"))));
  EXPECT_THAT(compare_runs(compare_rows(long_enough), comparison).warnings, Contains(HasSubstr("in the other it was too short to measure")));
}

TEST(Marks, BusyThreadsAreSaidButDoNotExclude) {
  mgcompare::Run run = three_by_three();
  for (Row& row : run.rows) row.result.seconds_other_threads = row.trial.devices == 2 ? 0.95 * row.result.seconds_training : 0.001;
  const Comparison comparison = compare_rows(run);
  EXPECT_FALSE(comparison.cells[1].is_disqualified());
  EXPECT_THAT(terminal(run), HasSubstr("Threads that are not ranks, or other processes, used up to 0.95 processors during the training: together on 2"));
  EXPECT_THAT(csv_report(run), HasSubstr("other threads are busy"));
}

TEST(Marks, ARowUnderOtherConditionsIsNotRanked) {
  mgcompare::Run run = three_by_three();
  for (Row& row : run.rows)
    if (row.trial.devices == 2) row.result.changed_settings = "the processors that it may run on of rank 0";
  const Comparison comparison = compare_rows(run);
  EXPECT_TRUE(comparison.cells[1].is_disqualified());
  EXPECT_THAT(terminal(run), HasSubstr("The strategy changed settings of its threads"));
  EXPECT_THAT(csv_report(run), HasSubstr("changed the processors that it may run on of rank 0"));
}

TEST(Marks, ExtraRunsThatFailAreNoRepeats) {
  RunMaker maker;
  const auto diverged = [](Row& row) {
    row.result = {};
    row.result.status = TrialStatus::diverged;
    row.result.cause = "step 12, loss nan";
  };
  diverged(maker.bracket(1, make_result(1000, 8, 0.985)));
  diverged(maker.baseline(1, make_result(1000, 8, 0.985)));
  diverged(maker.bracket(2, make_result(1000, 8, 0.985)));
  const Comparison comparison = compare_rows(maker.run);
  EXPECT_EQ(comparison.cells[0].failed.size(), 1u);
  EXPECT_EQ(comparison.cells[0].failed_extras.size(), 2u);
  const std::string text = terminal(maker.run);
  EXPECT_THAT(text, AllOf(HasSubstr("3 of 3 trials were not completed"), Not(HasSubstr("3 repeats")), HasSubstr("(2 extra runs): diverged")));
  EXPECT_EQ(failures(comparison).size(), 2u);
}

TEST(Failures, NameTheFileWithTheirOutput) {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "mgcompare-failures-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  RunMaker maker;
  maker.run.directory = folder;
  maker.baseline(1, make_result(1000, 8, 0.985));
  Row& failed = maker.add("together", 2, 1, make_result(1000, 8, 0.985));
  failed.result.status = TrialStatus::failed;
  failed.result.cause = "no luck";
  failed.result.notes = {"another note", "it failed in step 3 of epoch 1 (training)"};
  EXPECT_THAT(terminal(maker.run), AllOf(HasSubstr("failed (no luck; it failed in step 3 of epoch 1 (training))\n"), Not(HasSubstr("worker.log"))));
  std::ofstream(folder + "/worker.log") << "what it printed";
  EXPECT_THAT(terminal(maker.run), HasSubstr("  the output of their processes: " + folder + "/worker.log\n"));
  failed.result.status = TrialStatus::unavailable;
  EXPECT_THAT(terminal(maker.run), Not(HasSubstr("worker.log")));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace mgcompare
