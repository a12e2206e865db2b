#include "reports/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/number_text.h"
#include "reports/advice.h"
#include "reports/answer.h"
#include "reports/batch_range.h"
#include "reports/coarse_target.h"
#include "reports/comparison_text.h"
#include "reports/copies.h"
#include "reports/cost.h"
#include "reports/drift.h"
#include "reports/fitting_batches.h"
#include "reports/framework_findings.h"
#include "reports/further_repeats.h"
#include "reports/marked_rows.h"
#include "reports/row_order.h"
#include "reports/straggler.h"
#include "reports/text.h"
#include "reports/titles.h"

namespace mgcompare {
namespace {

struct Rival {
  const Cell* cell;
  RowOrder order;                   // of the winner's figure relative to this one's
  bool enough_repeats;
};

// Every other row of the ranking against the winner; the tests are corrected for their number.
std::vector<Rival> rivals_of(const Comparison& comparison, const Cell& winner) {
  const Figure by = figure_of(comparison);
  const Spread& mine = winner.*by.of_cell;
  std::vector<Rival> rivals;
  std::vector<RowPair> pairs;
  for (const std::size_t index : comparison.ranking) {
    const Cell& cell = comparison.cells[index];
    if (&cell == &winner) continue;
    const Spread& its = cell.*by.of_cell;
    rivals.push_back({&cell, {}, mine.count >= kDecisiveRepeats && its.count >= kDecisiveRepeats});
    pairs.push_back({&winner, &cell});
  }
  std::vector<RowOrder> orders = order_rows(comparison.cells, pairs, by);
  for (std::size_t i = 0; i < orders.size(); ++i) rivals[i].order = std::move(orders[i]);
  return rivals;
}

// "1.92 [1.78 .. 2.05] times as fast as X", and if undecided the reason.
std::string rival_text(const Comparison& comparison, const Cell& winner, const Rival& rival) {
  const Cell& other = *rival.cell;
  if (goes_by_target(comparison) && other.reached_target == 0)
    return fmt::format("{} did not reach {}", title_of(other), target_text(comparison.target_accuracy));
  const std::string text = against(comparison, winner, other);
  if (rival.order.order != Order::undecided) return text;
  const Criterion by = criterion(comparison);
  const Spread &mine = winner.*by.of_cell, &its = other.*by.of_cell;
  // The medians of equal rows may belong to different seeds: then the factor alone looks like a difference.
  const bool is_by_seeds = differs_by_noise(mine, its) && std::abs(factor_over(comparison, winner, other).median - 1) > kNoiseFloor;
  return fmt::format("{}; undecided: {}{}", text, rival.order.doubt,
                     is_by_seeds ? " (the factor is the median of the ratios seed by seed)" : "");
}

void add_headline(const Comparison& comparison, const Cell& winner, std::vector<Finding>& all) {
  const std::string target = target_text(comparison.target_accuracy);
  const std::string repeats = some_repeats(winner);
  if (misses_target(comparison)) {
    const std::string instead = instead_of_target(comparison);
    all.push_back({fmt::format("No row reached {}{}", target, instead.empty() ? "" : ": rows are ranked by " + instead)});
  }
  if (comparison.objective == Objective::device_seconds) {
    const Spread& cost = winner.*criterion(comparison).of_cell;
    const std::string until = goes_by_target(comparison) ? "up to " + target + repeats : "for the whole training";
    all.push_back({fmt::format("{} is cheapest: {} device-seconds {}", winner_title(winner), with_range(cost, cost_text), until)});
  } else if (goes_by_target(comparison)) {
    all.push_back({fmt::format("{} reached {} in {}{}", winner_title(winner), target,
                               with_range(winner.seconds_to_target, seconds_text), repeats)});
  } else {
    all.push_back({fmt::format("{} trained fastest: {} samples/s, accuracy {}", winner_title(winner),
                               with_range(winner.samples_per_second, rate_text), accuracy_of(winner))});
  }
}

void add_baseline(const Comparison& comparison, const Cell& winner, const std::vector<Rival>& rivals, std::vector<Finding>& all) {
  if (winner.is_baseline) {
    if (comparison.ranking.size() > 1) all.push_back({"it is the one-device baseline: no other row of the ranking has a better median", 1});
    return;
  }
  if (winner.baseline && &comparison.cells[*winner.baseline] == &winner) {
    all.push_back({fmt::format("it is the fastest row of {} on one device: no other row of the ranking has a better median", winner.framework), 1});
    return;
  }
  if (!winner.baseline) {
    const std::string unmeasured = short_baseline_text(comparison, winner);
    all.push_back({!unmeasured.empty() ? "there is nothing to compare it with: " + unmeasured
                                       : "there is no one-device baseline on this kind of device and at this batch to compare it with", 1});
    return;
  }
  const auto base = std::find_if(rivals.begin(), rivals.end(),
                                 [&](const Rival& rival) { return rival.cell == &comparison.cells[*winner.baseline]; });
  if (base == rivals.end()) return;
  std::string text = rival_text(comparison, winner, *base);
  if (goes_by_target(comparison) && comparison.objective == Objective::time_to_accuracy)
    text += fmt::format(" (throughput alone: {}x)", factor_text(winner.speed_up.median));
  all.push_back({text, 1});
}

constexpr double kWorthNaming = 0.005;  // of a step

// "30 % of its time is exchange, and 4.0 % waiting for other ranks": where a row loses what it lacks to linear scaling, the largest share first.
std::string losses_text(const Cell& cell) {
  const Breakdown& parts = cell.breakdown;
  std::vector<std::pair<double, std::string>> losses = {
      {parts.exchange / parts.step, "exchange"},
      {parts.waiting / parts.step, waits_in_turn(cell) ? "waiting for each other in turn" : "waiting for other ranks"},
      {parts.host / parts.step, "the host outside of steps"},
      {parts.strategy / parts.step, "the strategy's own work"}};
  double rest = 1 - cell.efficiency.median;
  for (const auto& [share, name] : losses) rest -= share;
  losses.emplace_back(rest, "computing and updates that did not shrink with the batch per device");
  std::erase_if(losses, [](const auto& loss) { return loss.first < kWorthNaming; });
  std::stable_sort(losses.begin(), losses.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const char* const before = i == 0 ? "" : i + 1 < losses.size() ? ", " : i == 1 ? " and " : ", and ";
    text += fmt::format("{}{}{}{}", before, percent_text(losses[i].first), i == 0 ? " of its time is " : " ", losses[i].second);
  }
  return text;
}

void add_reasons(const Comparison& comparison, const Cell& winner, const std::vector<Rival>& rivals, std::vector<Finding>& all) {
  for (const std::string& text : {why_not_text(comparison), above_ideal_text(comparison)})
    if (!text.empty()) all.push_back({text});
  // Rows with fewer repeats differ from no other significantly, which says nothing about them.
  const Cell* cheapest = nullptr;
  for (const Rival& rival : rivals) {
    if (rival.order.order != Order::undecided || !rival.enough_repeats) continue;
    const std::size_t devices = rival.cell->trial().devices, least = (cheapest == nullptr ? winner : *cheapest).trial().devices;
    // Among rows on as many devices, the baseline is the simplest.
    if (devices < least || (cheapest != nullptr && devices == least && rival.cell->is_baseline)) cheapest = rival.cell;
  }
  if (cheapest != nullptr) all.push_back({fmt::format("Fewest devices without a significant difference: {}", title_of(*cheapest))});
}

// "at 1.10 [1.08 .. 1.13] times its samples/s", by the objective of the comparison. `factor`: with or without a range.
std::string copy_text(const Comparison& comparison, const std::string& factor) {
  const std::string target = goes_by_target(comparison) ? " to " + target_text(comparison.target_accuracy) : "";
  if (comparison.objective == Objective::device_seconds) return fmt::format("at {} times its device-seconds{}", factor, target);
  return goes_by_target(comparison) ? fmt::format("{} times as fast{}", factor, target) : fmt::format("at {} times its samples/s", factor);
}

// How far exact rows on one device that send nothing are from the baseline, whose training they repeat. Empty if there are none.
std::string copies_text(const Comparison& comparison) {
  const std::optional<Copies> copies = copies_of(comparison.cells, figure_of(comparison));
  if (!copies) return "";
  const char* const doubt = copies->departure() > kFarCopy ? "; differences of that size between other rows may be due to the machine" : "";
  const std::string farthest = title_of(*copies->farthest);
  if (copies->count == 1)
    return fmt::format("A/A check: {} does what the baseline does, {}{}", farthest, copy_text(comparison, with_range(copies->factor)), doubt);
  const std::string least = factor_text(copies->least), most = factor_text(copies->most);
  return fmt::format("A/A check: {} exact rows on one device do what the baseline does, {}; the farthest is {}{}", copies->count,
                     copy_text(comparison, least == most ? least : least + " to " + most), farthest, doubt);
}

}  // namespace

std::string no_curve(const Comparison& comparison) {
  if (const std::string unmeasured = short_baseline_text(comparison); !unmeasured.empty())
    return fmt::format("There is no curve to draw: {}.", unmeasured);
  return "There is no curve to draw: curves need rows on at least two different numbers of devices, and the baseline on one. Add "
         "devices to `scaling.devices`, and a strategy that is the one-device baseline.";
}

std::string no_prediction(const Comparison& comparison) {
  if (const std::string unmeasured = short_baseline_text(comparison); !unmeasured.empty())
    return fmt::format("There is nothing to predict from: {}.", unmeasured);
  return "There is nothing to predict from: predictions need a strategy on several devices and the one-device baseline: run more rows.";
}

std::string why_not_text(const Comparison& comparison) {
  if (comparison.ranking.empty()) return "";
  const Cell& winner = comparison.cells[comparison.ranking.front()];
  const bool has_several = winner.trial().devices > 1;
  const Cell* const several = has_several ? &winner : best_on_several(comparison);
  if (several == nullptr || several->efficiency.count == 0 || several->efficiency.median >= 0.95 || !several->breakdown.reliable()) return "";
  const std::string losses = losses_text(*several);
  return losses.empty() ? "" : fmt::format("Why not {}x{}: {}", several->trial().devices, has_several ? "" : " by " + title_of(*several), losses);
}

std::string above_ideal_text(const Comparison& comparison) {
  const Cell* most = nullptr;
  for (const std::size_t index : comparison.ranking) {
    const Cell& cell = comparison.cells[index];
    const Spread& efficiency = cell.efficiency;
    if (cell.trial().devices == 1 || efficiency.count < kDecisiveRepeats || efficiency.low <= 1 || efficiency.median <= 1 + kNoiseFloor) continue;
    if (most == nullptr || efficiency.median > most->efficiency.median) most = &cell;
  }
  if (most == nullptr) return "";
  // With the same batch per device, its share is no smaller.
  const bool has_smaller_share = most->trial().scaling == ScalingMode::strong;
  const std::optional<Copies> copies = copies_beside(comparison.cells, throughput_figure(), *most, *most);
  const bool is_doubtful = copies && copies->departure() >= departure_of(most->efficiency);
  return fmt::format("More than ideal: the efficiency of {} is {}. {}{}", title_of(*most), with_range(most->efficiency, percent_text),
                     is_doubtful         ? "The A/A check is off by as much, so it may be the machine"
                     : has_smaller_share ? "Usually the smaller share of the batch on each device fits its cache, or the library uses another algorithm for it"
                                         : "Usually the row on one device was slowed down, or the library uses another algorithm on several",
                     is_doubtful ? "" : "; repeat the run to rule out the machine");
}

// What helps if there is nothing to rank.
std::string nothing_done_text(const Comparison& comparison) {
  std::set<double> rates;
  bool has_others = false;
  for (const Cell& cell : comparison.cells)
    for (const Row* row : cell.failed) {
      has_others |= row->result.status != TrialStatus::diverged;
      if (row->config) rates.insert(row->config->optimizer.learning_rate);
    }
  if (has_others || rates.empty() || comparison.finished < comparison.trials) return "No trial was completed: there is nothing to compare";
  return fmt::format("No trial was completed, because all diverged: lower `optimizer.learning_rate`, which is {}{}, and if the samples "
                     "are far from about -1 to 1, scale them with `data.scale`", rates.size() > 1 ? "up to " : "", number_text(*rates.rbegin()));
}

std::vector<Finding> ranking_findings(const Comparison& comparison) {
  std::vector<Finding> all;
  if (comparison.ranking.empty()) {
    const bool any = std::any_of(comparison.cells.begin(), comparison.cells.end(), [](const Cell& cell) {
      return !cell.done.empty() && !cell.many_models && !cell.is_ceiling;
    });
    all.push_back({!comparison.has_results() ? nothing_done_text(comparison)
                   : any                ? "No row can be ranked: each has a mark that excludes it"
                                        : "No strategy that trains one model was completed"});
    return all;
  }
  const Cell& winner = comparison.cells[comparison.ranking.front()];
  const std::vector<Rival> rivals = rivals_of(comparison, winner);
  add_headline(comparison, winner, all);
  add_baseline(comparison, winner, rivals, all);
  const auto second = std::find_if(rivals.begin(), rivals.end(), [&](const Rival& rival) {
    return !winner.baseline || rival.cell != &comparison.cells[*winner.baseline];
  });
  if (second != rivals.end()) all.push_back({rival_text(comparison, winner, *second), 1});
  add_reasons(comparison, winner, rivals, all);
  for (const std::string& text : {advice_text(comparison), cost_sentence(comparison), copies_text(comparison)})
    if (!text.empty()) all.push_back({text});
  return all;
}

std::vector<Finding> reservations(const Comparison& comparison) {
  std::vector<Finding> all;
  for (const auto& sentences : {marked_rows(comparison), fitting_batches(comparison)})
    for (const std::string& sentence : sentences) all.push_back({sentence});
  if (const std::string coarse = coarse_target_text(comparison); !coarse.empty()) all.push_back({coarse});
  std::set<std::string> many;
  for (const Cell& cell : comparison.cells) {
    if (cell.done.empty() || !cell.many_models || !many.insert(cell.trial().strategy.label).second) continue;
    all.push_back({fmt::format("{} trains separate models, one per rank: its accuracy is their mean, its speed an upper limit",
                               plain(cell.trial().strategy.label))});
  }
  if (const std::vector<SpeedDrift> found = drifts(comparison); !found.empty()) {
    const SpeedDrift& worst = largest(found);
    all.push_back({fmt::format("The speed of the machine changed: the samples/s of {} changed by {} between two of its runs; "
                               "differences of that size may be due to the machine",
                               plain(row_name(worst.before->trial)), change_text(worst.change))});
  }
  return all;
}

std::vector<Finding> part_findings(const Comparison& comparison) {
  std::vector<Finding> all;
  if (const Answer first = answer(comparison); !first.verdict.empty()) all.push_back({first.verdict + ": " + first.grounds});
  for (const std::string& text : {further_repeats_below_answer(comparison), batch_range_text(comparison)})
    if (!text.empty()) all.push_back({text});
  std::vector<Finding> ranking = ranking_findings(comparison);
  // The answer already contains this finding.
  if (!instead_of_target(comparison).empty()) ranking.erase(ranking.begin());
  if (const std::string frameworks = framework_summary(comparison); !frameworks.empty()) ranking.push_back({frameworks});
  for (const auto& part : {ranking, reservations(comparison)}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace mgcompare
