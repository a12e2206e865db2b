#include "reports/charts/headline.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/text.h"
#include "reports/titles.h"

namespace mgcompare {
namespace {

// The row with the largest median on several devices; on the most devices only, if `on_most`.
const Cell* best_row(const Comparison& comparison, Spread Cell::* figure, bool on_most) {
  std::size_t most = 2;
  if (on_most)
    for (const std::size_t index : comparison.ranking)
      if ((comparison.cells[index].*figure).count > 0) most = std::max(most, comparison.cells[index].trial().devices);
  const Cell* best = nullptr;
  for (const std::size_t index : comparison.ranking) {
    const Cell& cell = comparison.cells[index];
    if (cell.trial().devices < most || (cell.*figure).count == 0) continue;
    if (best == nullptr || (cell.*figure).median > (best->*figure).median) best = &cell;
  }
  return best;
}

// Of a title, which is quoted without the text around it.
std::string undecided_text(const Cell& cell) { return cell.order == Order::undecided ? " (undecided)" : ""; }

}  // namespace

std::string efficiency_headline(const Comparison& comparison) {
  const Cell* best = best_row(comparison, &Cell::efficiency, true);
  if (best == nullptr) return "";
  return fmt::format("{} at best on {}, by {}{}", percent_text(best->efficiency.median), devices_text(best->trial().devices, best->trial().device_kind),
                     best->series, undecided_text(*best));
}

std::string speed_up_headline(const Comparison& comparison) {
  const Cell* best = best_row(comparison, &Cell::speed_up, false);
  return best == nullptr ? "" : fmt::format("{:.2f}x at best, by {}{}", best->speed_up.median, title_of(*best), undecided_text(*best));
}

std::string target_headline(const Comparison& comparison) {
  const Comparison by_time = ranked_by(comparison, Objective::time_to_accuracy);
  if (!by_time.target_reached) return "";
  const Cell& first = by_time.cells[by_time.ranking.front()];
  return fmt::format("{} is first by the median, after {}", title_of(first), seconds_text(first.seconds_to_target.median));
}

std::string accuracy_headline(const Comparison& comparison) {
  double least = 1, most = 0;
  for (const std::size_t index : comparison.ranking) {
    const Spread& accuracy = comparison.cells[index].accuracy;
    if (accuracy.count == 0) continue;
    least = std::min(least, accuracy.median);
    most = std::max(most, accuracy.median);
  }
  if (least > most) return "";
  return least == most ? fmt::format("{} after the last epoch", accuracy_text(least))
                       : fmt::format("{} to {} after the last epoch", accuracy_text(least), accuracy_text(most));
}

}  // namespace mgcompare
