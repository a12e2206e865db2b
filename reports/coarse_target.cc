#include "reports/coarse_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "reports/text.h"
#include "reports/titles.h"
#include "results/target_crossing.h"

namespace mgcompare {
namespace {

constexpr double kFine = 0.25;      // of an epoch

bool is_first_above(const Row& row) {
  const std::vector<EvaluatedPoint> points = evaluated_points(row.result.epochs);
  return !points.empty() && points.front().accuracy >= row.config->target_accuracy;
}

// Ranks that run freely, and backends, are evaluated after whole epochs only.
bool can_be_finer(const Cell& cell) { return cell.is_own && !cell.runs_freely && cell.first->config->evaluate > kFine; }

}  // namespace

std::string coarse_target_text(const Comparison& comparison) {
  if (!(comparison.target_accuracy > 0)) return "";
  std::vector<const Cell*> coarse;
  for (const std::size_t index : comparison.ranking) {
    const Cell& cell = comparison.cells[index];
    if (can_be_finer(cell) && std::any_of(cell.done.begin(), cell.done.end(), [](const Row* row) { return is_first_above(*row); })) coarse.push_back(&cell);
  }
  if (coarse.empty()) return "";
  const std::string target = target_text(comparison.target_accuracy);
  return fmt::format("Above {} already at the first evaluation: {}. {} time to {} is that of a whole {}: `evaluate: {}` finds it more precisely", target,
                     titles_of(coarse), coarse.size() == 1 ? "Its" : "Their", target,
                     coarse.front()->first->config->evaluate < 1 ? "interval between evaluations" : "epoch", kFine);
}

}  // namespace mgcompare
