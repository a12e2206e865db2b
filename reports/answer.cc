#include "reports/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "reports/accuracy_gap.h"
#include "reports/comparison_text.h"
#include "reports/machine_doubt.h"
#include "reports/row_order.h"
#include "reports/text.h"
#include "reports/titles.h"

namespace mgcompare {
namespace {

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

// The fastest row, if it is on one device of the same kind, framework and variant with another batch; else null. Speed-ups are of one batch.
const Cell* faster_at_another_batch(const Comparison& comparison, const Cell& best, const Cell& base) {
  const Cell& fastest = comparison.cells[comparison.ranking.front()];
  const TrialKey &trial = fastest.trial(), &own = best.trial();
  const bool is_comparable =
      fastest.is_own == best.is_own && fastest.framework == best.framework && trial.device_kind == own.device_kind && trial.variant == own.variant;
  return is_comparable && trial.devices == 1 && trial.global_batch != base.trial().global_batch ? &fastest : nullptr;
}

// Corrected for all rows that could have been the best.
Contest contest_of(const Comparison& comparison, const Cell& best, const Cell& base) {
  const Figure by = figure_of(comparison);
  if (criterion(comparison).more_is_better) {
    const auto compared = std::count_if(comparison.cells.begin(), comparison.cells.end(),
                                        [&](const Cell& cell) { return cell.baseline && &comparison.cells[*cell.baseline] != &cell; });
    return {&best, &base, best.order, static_cast<std::size_t>(compared), best.doubt, false, best.is_doubted_by_copies};
  }
  std::vector<RowPair> pairs = {{&best, &base}};
  for (const std::size_t index : comparison.ranking) {
    const Cell& cell = comparison.cells[index];
    if (&cell != &best && is_on_several(cell) && cell.is_own == best.is_own && cell.trial().device_kind == best.trial().device_kind &&
        cell.trial().variant == best.trial().variant)
      pairs.push_back({&cell, &base});
  }
  const RowOrder found = order_rows(comparison.cells, pairs, by).front();
  // Less is better.
  const Order order = found.order == Order::below ? Order::above : found.order == Order::above ? Order::below : Order::undecided;
  Contest contest = {&best, &base, order, pairs.size(), found.doubt, false, found.is_by_machine};
  if (!goes_by_target(comparison) || order == Order::undecided) return contest;
  // Undecided if one is better but reaches the target in fewer repeats.
  const auto reached = [](const Cell& cell) {
    return static_cast<double>(cell.reached_target) / static_cast<double>(cell.done.size());
  };
  if (order == Order::above ? reached(best) >= reached(base) : reached(best) <= reached(base)) return contest;
  const Cell &ahead = order == Order::above ? best : base, &behind = order == Order::above ? base : best;
  contest.order = Order::undecided;
  contest.is_contradictory = true;
  contest.doubt = fmt::format("the better row reached {} in {} of {} repeats, and the other in {} of {}", target_text(comparison.target_accuracy),
                              ahead.reached_target, ahead.done.size(), behind.reached_target, behind.done.size());
  return contest;
}

constexpr const char *kNo = "Several devices do not pay", *kUndecided = "Whether several devices pay is undecided";

// No row on several devices reached the target. Where one device misses it too, in some repeats, that may be chance.
Answer answer_of_missed(const Comparison& comparison, bool is_of_others) {
  const Cell* base = nullptr;       // the row on one device that reached it most often
  std::size_t fewest = kDecisiveRepeats;
  for (const std::size_t index : comparison.ranking) {
    const Cell& cell = comparison.cells[index];
    if (!cell.is_own && !is_of_others) continue;
    if (is_on_several(cell)) fewest = std::min(fewest, cell.done.size());
    else if (cell.reached_target > 0 && (base == nullptr || cell.reached_target > base->reached_target)) base = &cell;
  }
  const std::string none = fmt::format("none reached {}", target_text(comparison.target_accuracy));
  if (base == nullptr) return {kUndecided, none};
  const std::string text = fmt::format("{}, and {} did{}", none, title_of(*base), some_repeats(*base));
  const std::size_t repeats = std::min(fewest, base->done.size());
  if (repeats < kDecisiveRepeats)
    return {kUndecided, fmt::format("{} ({}; at least three are needed to decide)", text, repeats == 1 ? "one repeat" : "two repeats")};
  return {base->reached_target == base->done.size() ? kNo : kUndecided, text};
}

Answer answer_of_ranking(const Comparison& comparison) {
  constexpr const char* kYes[] = {"Several devices are faster", "Several devices are cheaper"};
  // Of the medians, where the test does not decide.
  constexpr const char *kNoGain = "No gain seen", *kUnconfirmed = "A gain is seen, but not confirmed";
  const std::string target = target_text(comparison.target_accuracy);
  const Cell* best = best_on_several(comparison);
  if (best == nullptr) {
    if (!comparison.has_results()) return {};
    const bool is_of_others = is_answer_of_others(comparison);
    const bool tried = std::any_of(comparison.ranking.begin(), comparison.ranking.end(), [&](std::size_t index) {
      const Cell& cell = comparison.cells[index];
      return is_on_several(cell) && (cell.is_own || is_of_others);
    });
    if (tried) return answer_of_missed(comparison, is_of_others);
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
  const bool is_missed = goes_by_target(comparison) && base.reached_target == 0;
  const Contest rows = is_missed ? Contest{best, &base} : contest_of(comparison, *best, base);
  const std::string machine = machine_doubt(comparison, rows);
  // A decided answer carries the warnings about the machine; undecided ones claim nothing.
  const auto sure_verdict = [&](const std::string& verdict) {
    return machine.empty() ? verdict : fmt::format("{}, though {}", verdict, machine);
  };
  const std::string lower = lower_accuracy_text(*best, base);
  const auto yes = [&](const std::string& verdict) {
    return sure_verdict(lower.empty() ? verdict : fmt::format("{}, but less accurate ({})", verdict, lower));
  };
  if (is_missed) {
    const bool sure = best->reached_target == best->done.size() && best->done.size() >= kDecisiveRepeats &&
                      base.done.size() >= kDecisiveRepeats;
    return {sure ? yes("Several devices pay") : kUndecided,
            fmt::format("no one-device baseline reached {}, and {} did{}", target, winner_title(*best), some_repeats(*best))};
  }
  const Order order = rows.order;
  const bool is_cost = comparison.objective == Objective::device_seconds;
  const Criterion by = criterion(comparison);
  const Spread factor = factor_over(comparison, *best, base);
  const double gain = is_cost ? 1 / factor.median : factor.median;
  // Rows are ranked by how often they reached the target, so a faster one may follow.
  const bool is_partial = goes_by_target(comparison) && !some_repeats(*best).empty();
  const bool is_open = order == Order::undecided;
  const std::string verdict = is_partial && is_open     ? kUndecided
                              : order == Order::above     ? yes(kYes[is_cost ? 1 : 0])
                              : order == Order::below     ? sure_verdict(kNo)
                              : gain <= 1 + kNoiseFloor ? kNoGain
                              : includes_one(factor)    ? kUndecided
                                                        : kUnconfirmed;
  const std::size_t repeats = std::min(best->done.size(), base.done.size());
  const std::string reason = rows.is_by_machine ? machine : rows.doubt + (machine.empty() ? "" : ", and " + machine);
  const std::string doubt =
      !is_open ? ""
      : repeats < kDecisiveRepeats
          ? fmt::format(" ({}; at least three are needed to decide{}{})", repeats == 1 ? "one repeat" : "two repeats", machine.empty() ? "" : "; ", machine)
          : fmt::format("; {}{}", verdict == kUndecided ? "" : "undecided: ", reason);
  if (by.more_is_better) {
    const Cell* const other = faster_at_another_batch(comparison, *best, base);
    const std::string faster = other == nullptr ? "" : fmt::format("; of all rows {} is the fastest", title_of(*other));
    return {verdict, fmt::format("at best {} times the samples/s of {}, by {}{}{}", with_range(best->speed_up), title_of(base),
                                 winner_title(*best), doubt, faster)};
  }
  if (!goes_by_target(comparison)) {
    return {verdict, fmt::format("at best {}, by {}{}", against(comparison, *best, base), winner_title(*best), doubt)};
  }
  if (is_partial) {
    return {verdict, fmt::format("no row on several devices reached {} more often than {} ({} of {} repeats), which was {}{}{}", target,
                                 winner_title(*best), best->reached_target, best->done.size(), against(comparison, *best, base, "to it "),
                                 some_repeats(base), doubt)};
  }
  return {verdict, fmt::format("at best {}{}, by {}{}", against(comparison, *best, base, "to " + target + " "), some_repeats(base),
                               winner_title(*best), doubt)};
}

}  // namespace

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

std::optional<Contest> contest(const Comparison& comparison) {
  const Cell* best = best_on_several(comparison);
  if (best == nullptr) return std::nullopt;
  const Cell& base = one_device(comparison, *best);
  if (goes_by_target(comparison) && base.reached_target == 0) return std::nullopt;
  return contest_of(comparison, *best, base);
}

Answer answer(const Comparison& comparison) {
  Answer found = answer_of_ranking(comparison);
  const std::string instead = instead_of_target(comparison);
  if (instead.empty() || found.verdict.empty()) return found;
  found.verdict.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(found.verdict.front())));
  found.verdict = fmt::format("No row reached {}; by {}, {}", target_text(comparison.target_accuracy), instead, found.verdict);
  return found;
}

}  // namespace mgcompare
