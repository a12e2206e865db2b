#include "reports/answer.h"
#include "reports/promise.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "reports/csv.h"
#include "reports/failures.h"
#include "reports/findings.h"
#include "reports/html.h"
#include "reports/markdown.h"
#include "reports/summary.h"
#include "results/runs.h"
#include "results/weight_sketch.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Result at(double moved, double samples_per_second = 1000) {
  Result result = make_result(samples_per_second, 8, 0.985);
  for (std::size_t i = 0; i < result.epochs.size(); ++i) result.epochs[i].sketch = weights(moved, i);
  return result;
}

// Three seeds on one device and on two, with a control.
RunMaker pair(double moved) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, at(0));
    maker.add("together", 2, seed, at(moved, 1600));
  }
  Row& control = maker.baseline(1, at(0.002));
  control.trial.control = true;
  return maker;
}

// Weak scaling: the batch of two devices has only a reference, of one seed.
RunMaker weak(double moved) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const double noise = 1 + 0.001 * static_cast<double>(seed);
    maker.baseline(seed, at(0, 1000 * noise));
    maker.add("together", 2, seed, at(moved, 1600 * noise), 256);
  }
  for (const bool is_control : {false, true}) {
    Row& reference = maker.add("reference", 1, 1, at(is_control ? 0.002 : 0, 99'999), 256);
    reference.result.traits["role"] = "baseline";
    reference.trial.block = 0;
    reference.trial.reference = true;
    reference.trial.control = is_control;
  }
  for (Row& row : maker.run.rows) row.trial.scaling = ScalingMode::weak;
  return maker;
}

PromiseState state_of_second(const RunMaker& maker) { return compare_rows(maker.run).cells[1].promise.state; }

TEST(PromiseCheck, ABaselineOnSeveralRanksIsAContender) {
  RunMaker maker = pair(1);
  for (Row& row : maker.run.rows) row.result.traits["role"] = "baseline";
  const Comparison comparison = compare_rows(maker.run);
  EXPECT_TRUE(comparison.cells[0].is_baseline);
  EXPECT_FALSE(comparison.cells[1].is_baseline);
  EXPECT_EQ(comparison.cells[1].promise.state, PromiseState::broken);
  EXPECT_EQ(comparison.ranking, std::vector<std::size_t>{0});
}

TEST(PromiseCheck, FreeRanksCanPromiseTheBaselineToo) {
  RunMaker maker = pair(1);
  for (Row& row : maker.run.rows) row.result.traits["pace"] = "free";
  EXPECT_EQ(state_of_second(maker), PromiseState::broken);
}

TEST(PromiseCheck, AReferenceStandsInForTheBaseline) {
  EXPECT_EQ(state_of_second(weak(1)), PromiseState::broken);
  const RunMaker honest = weak(0.001);
  const Comparison comparison = compare_rows(honest.run);
  EXPECT_EQ(comparison.cells[1].promise.state, PromiseState::kept) << "in the seed of the reference";
  EXPECT_TRUE(comparison.cells[1].marks.empty());
  EXPECT_EQ(comparison.cells.size(), 2u) << "a reference is no row of the comparison";
  EXPECT_EQ(comparison.done, 8u);
  EXPECT_THAT(closing_summary(honest.run, {}), Not(HasSubstr("reference")));
}

TEST(PromiseCheck, EqualBitsNeedNoControl) {
  const auto state_without_control = [](double moved) {
    RunMaker maker = pair(moved);
    std::erase_if(maker.run.rows, [](const Row& row) { return row.trial.control; });
    return state_of_second(maker);
  };
  EXPECT_EQ(state_without_control(0), PromiseState::kept);
  EXPECT_EQ(state_without_control(0.0001), PromiseState::unchecked);
}

TEST(PromiseCheck, WithoutAReferenceAllOutputsSayThatItWasNotChecked) {
  RunMaker maker = weak(0.001);
  for (Row& row : maker.run.rows)
    if (row.trial.reference) {
      row.result = {};
      row.result.status = TrialStatus::out_of_memory;
      row.result.cause = "asked 1000, free 10, total 100";
    }
  const Comparison comparison = compare_rows(maker.run);
  EXPECT_EQ(comparison.cells[1].promise.state, PromiseState::unchecked);
  EXPECT_FALSE(comparison.cells[1].is_disqualified()) << "it may be honest";
  EXPECT_THAT(answer(comparison).grounds, HasSubstr("by together on 2 CPU cores, batch 128 per device (promise not checked)"));
  const std::string sentence = "Exact rows whose promise was not checked: together on 2 CPU cores, batch 128 per device. The reason: no "
                               "training on one device at this batch and seed was completed";
  EXPECT_THAT(closing_summary(maker.run, {}),
              AllOf(HasSubstr(sentence), HasSubstr("together !"), HasSubstr("(2 extra runs): out of memory")));
  EXPECT_THAT(markdown_report(comparison, ""), AllOf(HasSubstr("exact (promise not checked)"), HasSubstr(sentence)));
  EXPECT_THAT(html_report(comparison, ""), AllOf(HasSubstr(sentence), HasSubstr("(promise not checked)")));
  EXPECT_THAT(csv_report(maker.run), HasSubstr("exact,not checked,,promise not checked"));
  const auto json = nlohmann::json::parse(json_text(maker.run));
  EXPECT_EQ(json["rows"][1]["promise_check"]["state"], "not checked");
  EXPECT_THAT(json["rows"][1]["promise_check"]["why"].get<std::string>(), HasSubstr("one device"));
  EXPECT_EQ(json["rows"][1]["marks"][0], "promise not checked");
  // The failure has a line of its own, and is no failed repeat.
  ASSERT_EQ(failures(comparison).size(), 1u);
  EXPECT_TRUE(failures(comparison)[0].extra);
}

// After each epoch, the weights of the row on two devices, and of the control, depart by these shares of their norm.
RunMaker departing(const std::vector<double>& row, const std::vector<double>& control, OptimizerKind optimizer = OptimizerKind::sgd) {
  RunMaker maker;
  const auto result = [](const std::vector<double>& departures) {
    Result result = make_result(1000, 8, 0.985);
    result.epochs.resize(departures.size(), result.epochs[0]);
    for (std::size_t i = 0; i < departures.size(); ++i) result.epochs[i].sketch = weights(10 * departures[i], i);
    return result;
  };
  maker.baseline(1, result(std::vector<double>(row.size(), 0)));
  maker.add("together", 2, 1, result(row));
  maker.baseline(1, result(control)).trial.control = true;
  for (Row& each : maker.run.rows) {
    Config config = *each.config;
    config.optimizer.kind = optimizer;
    each.config = std::make_shared<const Config>(config);
  }
  return maker;
}

// As measured with `replicated`, in networks of tanh, sigmoid and gelu.
TEST(PromiseCheck, AnHonestRowMayBeAnEpochAheadOfItsControl) {
  const std::vector<double> ahead = {1.8e-6, 1.1e-4, 2.5e-2, 0.26}, control = {1.2e-6, 2.2e-5, 2.2e-3, 6.9e-2};
  for (const std::size_t epochs : {1, 2, 3, 4}) {
    const auto first = [&](const std::vector<double>& all) { return std::vector<double>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(epochs)); };
    EXPECT_EQ(state_of_second(departing(first(ahead), first(control))), PromiseState::kept) << epochs;
  }
  EXPECT_EQ(state_of_second(departing({1.2e-3, 8.5e-3}, {1.8e-6, 1.0e-5}, OptimizerKind::adam)), PromiseState::kept);
  EXPECT_EQ(state_of_second(departing({2.4e-3, 8.5e-3}, {1.8e-6, 1.0e-5})), PromiseState::broken) << "sgd divides by nothing";
  EXPECT_EQ(state_of_second(departing({1.2e-6, 2.5e-2}, {1.2e-6, 3e-6})), PromiseState::broken);
}

// In networks with relu or max pooling, a control may part much later.
TEST(PromiseCheck, ADepartureLittleBeyondItsBoundCountsInMostRepeats) {
  const auto checked = [](const std::vector<std::size_t>& rows, double loss) {
    RunMaker maker = pair(0.001);
    for (const std::size_t row : rows) maker.run.rows[row].result.epochs[1].loss = loss;
    return compare_rows(maker.run).cells[1].promise;
  };
  EXPECT_EQ(checked({1}, 0.1902).state, PromiseState::kept);
  EXPECT_EQ(checked({1}, 0.1894).state, PromiseState::unchecked);
  EXPECT_EQ(checked({1}, 0.1894).what, "1 of 3 repeats departs from the baseline, which rounding can cause");
  EXPECT_EQ(checked({1, 3}, 0.1894).state, PromiseState::broken);
  EXPECT_EQ(checked({1}, 0.17).state, PromiseState::broken);
}

// With inputs that are not scaled, for instance, where one of several orders of summation stays close to the baseline by chance.
TEST(PromiseCheck, ADepartureOfATrainingWhoseLossRisesLaterCountsInMostRepeats) {
  const auto checked = [](const std::vector<std::size_t>& rows, double last_loss) {
    RunMaker maker = pair(0.001);
    for (Row& row : maker.run.rows) row.result.epochs.resize(3, row.result.epochs.back());
    for (const std::size_t row : rows) {
      maker.run.rows[row].result.epochs[1].loss = 0.17;
      maker.run.rows[row].result.epochs[2].loss = last_loss;
    }
    return compare_rows(maker.run).cells[1].promise;
  };
  EXPECT_EQ(checked({1}, 0.17).state, PromiseState::broken);
  EXPECT_EQ(checked({1}, 0.5).state, PromiseState::unchecked);
  EXPECT_EQ(checked({1, 3}, 0.5).state, PromiseState::broken);
}

// Of the epoch's end the second row's weights depart by `moved`, in its middle by `within`.
PromiseState state_within(double moved, double within) {
  RunMaker maker = pair(moved);
  for (Row& row : maker.run.rows) {
    EvaluationResult middle;
    middle.epochs = 0.5;
    middle.sketch = weights(row.trial.devices == 2 ? within : 0);
    for (EpochResult& epoch : row.result.epochs) epoch.evaluations = {middle};
  }
  return state_of_second(maker);
}

TEST(PromiseCheck, OfAnEvaluationWithinAnEpochGoesByTheDeparturesAtItsEnds) {
  EXPECT_EQ(state_within(0.001, 0.001), PromiseState::kept);
  EXPECT_EQ(state_within(0.001, 0.003), PromiseState::kept);
  EXPECT_EQ(state_within(0.001, 0.05), PromiseState::broken) << "the end would pass as near to the baseline, where relu and pooling are";
  EXPECT_EQ(state_within(0, 0.0005), PromiseState::kept);
  RunMaker maker = pair(0.001);
  EvaluationResult middle;
  middle.epochs = 0.5;
  for (Row& row : maker.run.rows) {
    middle.sketch = weights(row.trial.devices == 2 ? 0.5 : 0);
    row.result.epochs[1].evaluations = {middle};
  }
  EXPECT_THAT(closing_summary(maker.run, {}), HasSubstr("weights of an evaluation within the epoch differ"));
}

TEST(PromiseCheck, RanksThatEndApartAreMarked) {
  RunMaker maker = pair(0.001);
  maker.run.rows[3].result.epochs[1].ranks_apart = 1;
  const Comparison comparison = compare_rows(maker.run);
  EXPECT_TRUE(comparison.cells[1].is_marked(MarkKind::ranks_apart));
  EXPECT_EQ(comparison.ranking, std::vector<std::size_t>{0});
  EXPECT_THAT(closing_summary(maker.run, {}), AllOf(HasSubstr("Ranks ended an epoch with different weights"),
                                                    HasSubstr("ranks ended epoch 2 with different weights")));
  EXPECT_THAT(csv_report(maker.run), HasSubstr("ranks ended epoch 2 with different weights"));
  EXPECT_EQ(nlohmann::json::parse(json_text(maker.run))["trials"][3]["result"]["epochs"][1]["ranks_apart"], 1);
}

TEST(PromiseCheck, ASettleThatChangesTheTrainingIsMarked) {
  RunMaker maker = pair(0.001);
  maker.run.rows[1].result.epochs[0].ranks_moved = 2;
  const Comparison comparison = compare_rows(maker.run);
  EXPECT_TRUE(comparison.cells[1].is_marked(MarkKind::moved_by_settle));
  EXPECT_EQ(comparison.ranking, std::vector<std::size_t>{0});
  EXPECT_THAT(closing_summary(maker.run, {}), HasSubstr("settle() changed the weights in epoch 1"));
}

TEST(PromiseCheck, ARowThatStoodStillIsMarked) {
  RunMaker maker = pair(0.001);
  for (Row& row : maker.run.rows)
    if (row.trial.devices == 2) row.result.seconds_stood_still = 0.02 * row.result.seconds_training;
  EXPECT_TRUE(compare_rows(maker.run).cells[1].is_marked(MarkKind::stood_still));
  EXPECT_THAT(closing_summary(maker.run, {}), HasSubstr("Their process was stopped during the training, or the machine was suspended"));
  for (Row& row : maker.run.rows) row.result.seconds_stood_still *= 0.25;
  EXPECT_FALSE(compare_rows(maker.run).cells[1].is_marked(MarkKind::stood_still)) << "the training is long enough";
}

TEST(PromiseCheck, ARowWhoseRanksLackedProcessorsIsMarkedAndRanked) {
  RunMaker maker = pair(0.001);
  for (Row& row : maker.run.rows) {
    for (RankTimes& rank : row.result.ranks) rank.compute = 2, rank.optimizer = 0.5, rank.input = 0.5;
    row.result.seconds_rank_threads = (row.trial.devices == 2 ? 1.5 : 2.9) * static_cast<double>(row.result.ranks.size());
  }
  const Comparison comparison = compare_rows(maker.run);
  EXPECT_FALSE(comparison.cells[0].is_marked(MarkKind::lost_processors));
  EXPECT_TRUE(comparison.cells[1].is_marked(MarkKind::lost_processors));
  EXPECT_EQ(comparison.ranking.size(), 2u);
  EXPECT_THAT(closing_summary(maker.run, {}),
              AllOf(HasSubstr("had no processor for 40 % of its work"), HasSubstr("Their ranks waited for processors while they computed")));
  RunMaker once = maker;
  for (Row& row : once.run.rows)
    if (row.trial.seed > 1) row.result.seconds_rank_threads = 2.9 * static_cast<double>(row.result.ranks.size());
  EXPECT_FALSE(compare_rows(once.run).cells[1].is_marked(MarkKind::lost_processors)) << "in one of three repeats";
  for (Row& row : maker.run.rows) row.trial.ranks_per_device = 2;
  EXPECT_FALSE(compare_rows(maker.run).cells[1].is_marked(MarkKind::lost_processors)) << "they share devices as the config says";
}

TEST(PromiseCheck, ABusyThreadIsACoreHoweverManyDevicesThereAre) {
  RunMaker maker = pair(0.001);
  for (Row& row : maker.run.rows) {
    if (row.trial.devices == 2) row.trial.devices = 8;
    row.result.seconds_other_threads = row.trial.devices == 8 ? 0.95 * row.result.seconds_training : 0.001;
  }
  EXPECT_TRUE(compare_rows(maker.run).cells[1].is_marked(MarkKind::busy_threads));
  // On a machine that is busy otherwise, no thread gets a processor.
  for (Row& row : maker.run.rows) {
    if (row.trial.devices != 8) continue;
    row.result.seconds_other_threads = 0.05 * row.result.seconds_training;
    row.result.seconds_rank_threads = 0.4 * row.result.seconds_training;
  }
  EXPECT_TRUE(compare_rows(maker.run).cells[1].is_marked(MarkKind::busy_threads));
  for (Row& row : maker.run.rows) row.result.seconds_rank_threads *= 2;
  EXPECT_FALSE(compare_rows(maker.run).cells[1].is_marked(MarkKind::busy_threads));
  // NCCL and the driver have threads for each GPU.
  for (Row& row : maker.run.rows) {
    row.trial.device_kind = DeviceKind::cuda;
    row.result.seconds_other_threads *= 0.95 / 0.05;
  }
  EXPECT_FALSE(compare_rows(maker.run).cells[1].is_marked(MarkKind::busy_threads));
}

}  // namespace
}  // namespace mgcompare
