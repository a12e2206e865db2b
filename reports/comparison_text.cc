#include "reports/comparison_text.h"

#include <fmt/format.h>

#include "reports/figure.h"
#include "reports/text.h"
#include "reports/titles.h"

namespace mgcompare {

bool goes_by_target(const Comparison& comparison) {
  return comparison.target_reached && comparison.objective != Objective::throughput;
}

bool misses_target(const Comparison& comparison) {
  return comparison.target_accuracy > 0 && !comparison.target_reached && !comparison.ranking.empty();
}

std::string instead_of_target(const Comparison& comparison) {
  if (!misses_target(comparison) || comparison.objective == Objective::throughput) return "";
  return comparison.objective == Objective::device_seconds ? "the device-seconds of the whole training" : "samples/s";
}

Spread factor_over(const Comparison& comparison, const Cell& cell, const Cell& other) {
  return figure_of(comparison).factor(cell, other);
}

std::string against(const Comparison& comparison, const Cell& cell, const Cell& other, const std::string& until) {
  const bool is_cost = comparison.objective == Objective::device_seconds;
  return fmt::format("{} times {} {}{} {}", with_range(factor_over(comparison, cell, other)), is_cost ? "the device-seconds" : "as fast", until,
                     is_cost ? "of" : "as", title_of(other));
}

std::string some_repeats(const Cell& cell) {
  return cell.reached_target == cell.done.size() ? "" : fmt::format(", in {} of {} repeats", cell.reached_target, cell.done.size());
}

std::string short_baseline_text(const Comparison& comparison, const Cell& cell) {
  if (!cell.short_baseline) return "";
  return fmt::format("the one-device baseline, {}, was too short to measure: train longer, with more epochs or samples",
                     title_of(comparison.cells[*cell.short_baseline]));
}

std::string short_baseline_text(const Comparison& comparison) {
  for (const Cell& cell : comparison.cells)
    if (cell.trial().devices > 1 && cell.short_baseline) return short_baseline_text(comparison, cell);
  return "";
}

std::string winner_title(const Cell& cell) {
  return title_of(cell) + (cell.is_marked(MarkKind::unchecked_promise) ? " (promise not checked)" : "");
}

}  // namespace mgcompare
