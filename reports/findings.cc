#include "reports/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>

#include "reports/drift.h"
#include "reports/fitting_batches.h"
#include "reports/framework_findings.h"
#include "reports/machine_doubt.h"
#include "reports/marked_rows.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

std::string factor_text(double factor) { return fmt::format("{:.2f}", factor); }

bool goes_by_target(const Comparison& comparison) {
  return comparison.target_reached && comparison.objective != Objective::throughput;
}

bool misses_target(const Comparison& comparison) {
  return comparison.target_accuracy > 0 && !comparison.target_reached && !comparison.ranking.empty();
}

// The figure used instead if the objective needs a target that no row reached.
std::string instead_of_target(const Comparison& comparison) {
  if (!misses_target(comparison) || comparison.objective == Objective::throughput) return "";
  return comparison.objective == Objective::device_seconds ? "the device-seconds of the whole training" : "samples/s";
}

// The factor by which a row is faster than another, or by which it costs more.
Spread factor_over(const Comparison& comparison, const Cell& cell, const Cell& other) {
  const Criterion by = criterion(comparison);
  const bool is_cost = comparison.objective == Objective::device_seconds;
  return by.more_is_better || is_cost ? ratio(cell.done, other.done, by.of_row) : ratio(other.done, cell.done, by.of_row);
}

// "1.92 [1.78 .. 2.05] times as fast to 97 % as X", by cost "0.52 [0.49 .. 0.56] times the device-seconds to 97 % of X";
// `until` is "to 97 % " or empty.
std::string against(const Comparison& comparison, const Cell& cell, const Cell& other, const std::string& until = "") {
  const bool is_cost = comparison.objective == Objective::device_seconds;
  return fmt::format("{} times {} {}{} {}", with_range(factor_over(comparison, cell, other)), is_cost ? "the device-seconds" : "as fast", until,
                     is_cost ? "of" : "as", title_of(other));
}

struct Rival {
  const Cell* cell;
  Order order;                      // of the winner's figure relative to this one's
  bool enough_repeats;
};

// Every other row of the ranking against the winner; the tests are corrected for their number.
std::vector<Rival> rivals_of(const Comparison& comparison, const Cell& winner) {
  const Criterion by = criterion(comparison);
  const Spread& mine = winner.*by.of_cell;
  std::vector<Rival> rivals;
  std::vector<std::pair<const Spread*, const Spread*>> pairs;
  for (const std::size_t index : comparison.ranking) {
    const Cell& cell = comparison.cells[index];
    if (&cell == &winner) continue;
    const Spread& its = cell.*by.of_cell;
    rivals.push_back({&cell, Order::undecided, mine.count >= kDecisiveRepeats && its.count >= kDecisiveRepeats});
    pairs.emplace_back(&mine, &its);
  }
  const std::vector<Order> orders = compare_all(pairs);
  for (std::size_t i = 0; i < orders.size(); ++i) rivals[i].order = orders[i];
  return rivals;
}

// "1.92 [1.78 .. 2.05] times as fast as X", and if undecided the reason.
std::string rival_text(const Comparison& comparison, const Cell& winner, const Rival& rival) {
  const Cell& other = *rival.cell;
  if (goes_by_target(comparison) && other.reached_target == 0)
    return fmt::format("{} did not reach {}", title_of(other), target_text(comparison.target_accuracy));
  const std::string text = against(comparison, winner, other);
  if (rival.order != Order::undecided) return text;
  const Criterion by = criterion(comparison);
  const Spread &mine = winner.*by.of_cell, &its = other.*by.of_cell;
  // The medians of equal rows may belong to different seeds: then the factor alone looks like a difference.
  const bool is_by_seeds = differs_by_noise(mine, its) && std::abs(factor_over(comparison, winner, other).median - 1) > kNoiseFloor;
  return fmt::format("{}; undecided: {}{}", text, doubt_of(mine, its),
                     is_by_seeds ? " (the factor is the median of the ratios seed by seed)" : "");
}

// ", in 2 of 3 repeats"; empty if all repeats reached the target.
std::string some_repeats(const Cell& cell) {
  return cell.reached_target == cell.done.size() ? "" : fmt::format(", in {} of {} repeats", cell.reached_target, cell.done.size());
}

// Why a row has no baseline although there is one: "the one-device baseline, serial on ..., was too short to measure; ...". Empty
// if that is not the reason.
std::string short_baseline_text(const Comparison& comparison, const Cell& cell) {
  if (!cell.short_baseline) return "";
  return fmt::format("the one-device baseline, {}, was too short to measure: train longer, with more epochs or samples",
                     title_of(comparison.cells[*cell.short_baseline]));
}

// The same for any row on several devices.
std::string short_baseline_text(const Comparison& comparison) {
  for (const Cell& cell : comparison.cells)
    if (cell.trial().devices > 1 && cell.short_baseline) return short_baseline_text(comparison, cell);
  return "";
}

// With the warning that nothing showed that it computes what it says.
std::string winner_title(const Cell& cell) {
  return title_of(cell) + (cell.is_marked(MarkKind::unchecked_promise) ? " (promise not checked)" : "");
}

std::string cost_text(double seconds) { return seconds < 100 ? fmt::format("{:.3g}", seconds) : count_text(seconds); }

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
    if (comparison.ranking.size() > 1) all.push_back({"it is the one-device baseline: no other row has a better median", 1});
    return;
  }
  if (winner.baseline && &comparison.cells[*winner.baseline] == &winner) {
    all.push_back({fmt::format("it is the fastest row of {} on one device: no other row has a better median", winner.framework), 1});
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

void add_reasons(const Comparison& comparison, const Cell& winner, const std::vector<Rival>& rivals, std::vector<Finding>& all) {
  const bool has_several = winner.trial().devices > 1;
  const Cell* const several = has_several ? &winner : best_on_several(comparison);
  if (several != nullptr && several->efficiency.count > 0 && several->efficiency.median < 0.95 &&
      several->breakdown.reliable()) {
    const Breakdown& parts = several->breakdown;
    // The rest of the loss, which no other part explains.
    const double own = parts.strategy / parts.step;
    const double rest = 1 - several->efficiency.median - (parts.exchange + parts.waiting + parts.host) / parts.step - own;
    all.push_back({fmt::format("Why not {}x{}: {} of its time is exchange, {} waiting for other ranks, {} the host outside of steps{}{}",
                               several->trial().devices, has_several ? "" : " by " + title_of(*several),
                               percent_text(parts.exchange / parts.step), percent_text(parts.waiting / parts.step),
                               percent_text(parts.host / parts.step),
                               own < 0.01 ? "" : fmt::format(", {} the strategy's own work", percent_text(own)),
                               rest < 0.01 ? "" : fmt::format(", and {} computing and updates that did not "
                                                         "shrink with the batch per device", percent_text(rest)))});
  }
  const Cell* cheapest = nullptr;
  bool enough = true;
  for (const Rival& rival : rivals) {
    if (rival.order != Order::undecided) continue;
    if (rival.cell->trial().devices >= (cheapest == nullptr ? winner : *cheapest).trial().devices) continue;
    cheapest = rival.cell;
    enough = rival.enough_repeats;
  }
  if (cheapest != nullptr)
    all.push_back({fmt::format("Fewest devices without a significant difference: {}{}", title_of(*cheapest),
                               enough ? "" : " (with so few repeats)")});
}

bool is_on_several(const Cell& cell) { return cell.trial().devices > 1 && cell.baseline && cell.speed_up.count > 0; }

// The answer is about the program's own rows, if it has such rows on several devices: those of other frameworks have their own baselines,
// and their own answers (frameworks.h).
bool is_answer_of_others(const Comparison& comparison) {
  return std::none_of(comparison.cells.begin(), comparison.cells.end(),
                      [](const Cell& cell) { return cell.is_own && !cell.done.empty() && !cell.many_models && cell.trial().devices > 1; });
}

// The one-device row to compare with, of the same kind and variant: by time or cost the best of all batches, by samples/s the
// one with the same batch, because another batch learns differently.
const Cell& one_device(const Comparison& comparison, const Cell& cell) {
  const Cell& own = comparison.cells[*cell.baseline];
  if (criterion(comparison).more_is_better) return own;
  const auto best = std::find_if(comparison.ranking.begin(), comparison.ranking.end(), [&](std::size_t index) {
    const Cell& other = comparison.cells[index];
    return (own.is_own ? other.is_baseline : other.framework == own.framework) && other.trial().devices == 1 && other.trial().ranks_per_device == 1 &&
           other.trial().device_kind == own.trial().device_kind && other.trial().variant == own.trial().variant;
  });
  return best == comparison.ranking.end() ? own : comparison.cells[*best];
}

// Above: better than one device. Corrected for all rows that could have been the best.
Order order_over(const Comparison& comparison, const Cell& best, const Cell& base) {
  const Criterion by = criterion(comparison);
  if (by.more_is_better) return best.order;
  std::vector<std::pair<const Spread*, const Spread*>> pairs = {{&(base.*by.of_cell), &(best.*by.of_cell)}};
  for (const std::size_t index : comparison.ranking) {
    const Cell& cell = comparison.cells[index];
    if (&cell != &best && is_on_several(cell) && cell.is_own == best.is_own && cell.trial().device_kind == best.trial().device_kind &&
        cell.trial().variant == best.trial().variant)
      pairs.emplace_back(&(base.*by.of_cell), &(cell.*by.of_cell));
  }
  const Order order = compare_all(pairs).front();
  if (!goes_by_target(comparison)) return order;
  // Undecided if one is faster to the target but reaches it in fewer repeats.
  const auto reached = [](const Cell& cell) {
    return static_cast<double>(cell.reached_target) / static_cast<double>(cell.done.size());
  };
  const bool contradicts = order == Order::above ? reached(best) < reached(base) : reached(best) > reached(base);
  return contradicts ? Order::undecided : order;
}

Answer answer_of_ranking(const Comparison& comparison) {
  constexpr const char* kYes[] = {"Several devices are faster", "Several devices are cheaper"};
  constexpr const char *kNo = "Several devices do not pay", *kUndecided = "Whether several devices pay is undecided";
  const std::string target = target_text(comparison.target_accuracy);
  const Cell* best = best_on_several(comparison);
  if (best == nullptr) {
    if (comparison.done == 0) return {};
    const bool is_of_others = is_answer_of_others(comparison);
    const bool tried = std::any_of(comparison.ranking.begin(), comparison.ranking.end(), [&](std::size_t index) {
      const Cell& cell = comparison.cells[index];
      return is_on_several(cell) && (cell.is_own || is_of_others);
    });
    if (tried) return {kNo, fmt::format("none reached {}", target)};
    std::size_t several = 0, excluded = 0;
    for (const Cell& cell : comparison.cells) {
      if (cell.trial().devices == 1 || cell.many_models || cell.done.empty() || (!cell.is_own && !is_of_others)) continue;
      ++several;
      if (cell.is_disqualified()) ++excluded;
    }
    if (several > 0 && excluded == several) return {"Whether several devices pay is not known", "every row on several devices has a mark that excludes it"};
    if (const std::string unmeasured = short_baseline_text(comparison); !unmeasured.empty())
      return {"Whether several devices pay is not known", unmeasured};
    return {"Whether several devices pay is not known yet",
            comparison.has_frameworks() ? "the answer needs a finished row on several devices, and the one-device baseline of its framework at the same batch"
                                        : "the answer needs a finished row on several devices, and the one-device baseline at the same batch"};
  }
  const Cell& base = one_device(comparison, *best);
  // A decided answer carries the warnings about the machine; undecided ones claim nothing.
  const auto sure_verdict = [&](const std::string& verdict) {
    const std::string doubt = machine_doubt(comparison, *best, base);
    return doubt.empty() ? verdict : fmt::format("{}, though {}", verdict, doubt);
  };
  if (goes_by_target(comparison) && base.reached_target == 0) {
    const bool sure = best->reached_target == best->done.size() && best->done.size() >= kDecisiveRepeats &&
                      base.done.size() >= kDecisiveRepeats;
    return {sure ? sure_verdict("Several devices pay") : kUndecided,
            fmt::format("no one-device baseline reached {}, and {} did{}", target, winner_title(*best), some_repeats(*best))};
  }
  const Order order = order_over(comparison, *best, base);
  const std::string verdict = order == Order::above   ? sure_verdict(kYes[comparison.objective == Objective::device_seconds ? 1 : 0])
                              : order == Order::below ? sure_verdict(kNo)
                                                      : kUndecided;
  if (criterion(comparison).more_is_better) {
    return {verdict, fmt::format("at best {} times the samples/s of {}, by {}", with_range(best->speed_up), title_of(base),
                                 winner_title(*best))};
  }
  if (!goes_by_target(comparison)) {
    return {verdict, fmt::format("at best {}, by {}", against(comparison, *best, base), winner_title(*best))};
  }
  // Rows are ranked by how often they reached the target, so a faster one may follow.
  if (!some_repeats(*best).empty()) {
    return {verdict, fmt::format("no row on several devices reached {} more often than {} ({} of {} repeats), which was {}{}", target,
                                 winner_title(*best), best->reached_target, best->done.size(), against(comparison, *best, base, "to it "),
                                 some_repeats(base))};
  }
  return {verdict, fmt::format("at best {}{}, by {}", against(comparison, *best, base, "to " + target + " "), some_repeats(base),
                               winner_title(*best))};
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

const Cell* best_on_several(const Comparison& comparison) {
  const bool by_speed_up = criterion(comparison).more_is_better, is_of_others = is_answer_of_others(comparison);
  const Cell* best = nullptr;
  for (const std::size_t index : comparison.ranking) {
    const Cell& cell = comparison.cells[index];
    if (!is_on_several(cell) || (!cell.is_own && !is_of_others) || (goes_by_target(comparison) && cell.reached_target == 0)) continue;
    if (!by_speed_up) return &cell;
    if (best == nullptr || cell.speed_up.median > best->speed_up.median) best = &cell;
  }
  return best;
}

Answer answer(const Comparison& comparison) {
  Answer found = answer_of_ranking(comparison);
  const std::string instead = instead_of_target(comparison);
  if (instead.empty() || found.verdict.empty()) return found;
  found.verdict.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(found.verdict.front())));
  found.verdict = fmt::format("No row reached {}; by {}, {}", target_text(comparison.target_accuracy), instead, found.verdict);
  return found;
}

std::vector<Finding> ranking_findings(const Comparison& comparison) {
  std::vector<Finding> all;
  if (comparison.ranking.empty()) {
    const bool any = std::any_of(comparison.cells.begin(), comparison.cells.end(), [](const Cell& cell) {
      return !cell.done.empty() && !cell.many_models && !cell.is_ceiling;
    });
    all.push_back({comparison.done == 0 ? "No trial was completed: there is nothing to compare"
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
  return all;
}

std::vector<Finding> reservations(const Comparison& comparison) {
  std::vector<Finding> all;
  for (const auto& sentences : {marked_rows(comparison), fitting_batches(comparison)})
    for (const std::string& sentence : sentences) all.push_back({sentence});
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
  std::vector<Finding> ranking = ranking_findings(comparison);
  // The answer already contains this finding.
  if (!instead_of_target(comparison).empty()) ranking.erase(ranking.begin());
  if (const std::string frameworks = framework_summary(comparison); !frameworks.empty()) ranking.push_back({frameworks});
  for (const auto& part : {ranking, reservations(comparison)}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace mgcompare
