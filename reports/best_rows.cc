#include "reports/best_rows.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "reports/comparison_text.h"
#include "reports/learning_rate.h"
#include "reports/table_rows.h"
#include "reports/text.h"
#include "reports/titles.h"

namespace mgcompare {
namespace {

std::string criterion_name(const Comparison& comparison) {
  if (criterion(comparison).more_is_better) return "samples/s";
  const std::string until = comparison.target_reached ? " to " + target_text(comparison.target_accuracy) : "";
  return (comparison.objective == Objective::device_seconds ? "device-seconds" : "seconds") + until;
}

}  // namespace

Table best_rows_table(const Comparison& comparison) {
  // The ranking has the best row first.
  std::map<std::tuple<DeviceKind, std::size_t, bool, std::string>, const Cell*> best;
  for (const std::size_t index : comparison.ranking) {
    const Cell& cell = comparison.cells[index];
    if (goes_by_target(comparison) && cell.reached_target == 0) continue;
    best.try_emplace({cell.trial().device_kind, cell.trial().devices, !cell.is_own, cell.framework}, &cell);
  }
  const std::string name = criterion_name(comparison);
  const bool is_rate = criterion(comparison).more_is_better;
  Table table{
      "The best of each number of devices",
      fmt::format("Over all batches and strategies, by {}; an exact strategy on one device trains what the baseline trains, and is not listed. Speed-up is that of the samples/s over one device at the same batch; rows with different batches or "
                  "learning rates learn differently, so compare the accuracy, too.",
                  name),
      {"devices", "strategy", "global batch", name, "accuracy", "learning rate", is_rate ? "speed-up" : "speed-up of samples/s", "efficiency"},
      2,
      {},
      {}};
  if (best.size() < 2) return table;
  for (const auto& [place, cell] : best) {
    const Spread& figure = cell->*criterion(comparison).of_cell;
    table.lines.push_back({devices_of(cell->trial()), strategy_of(cell->trial()), fmt::format("{}", cell->trial().global_batch),
                           in_two(with_range(figure, is_rate ? rate_text : seconds_text)), in_two(accuracy_of(*cell)),
                           fmt::format("{:.6g}\n({})", learning_rate_of(*cell->first), rate_rule_of(*cell->first)),
                           in_two(with_range(cell->speed_up)), in_two(with_range(cell->efficiency, percent_text))});
  }
  return table;
}

}  // namespace mgcompare
