#include "reports/charts/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "config/problem.h"
#include "reports/answer.h"
#include "reports/text.h"
#include "reports/titles.h"

namespace mgcompare {
namespace {

constexpr std::size_t kNamed = 3;  // strategies in a headline

// The row with the largest median on at least so many devices.
const Cell* best_row(const Comparison& comparison, Spread Cell::* figure, const Panel* panel, std::size_t least = 2) {
  const Cell* best = nullptr;
  for (const std::size_t index : comparison.ranking) {
    const Cell& cell = comparison.cells[index];
    if (cell.trial().devices < least || (cell.*figure).count == 0) continue;
    if (panel != nullptr && std::find(panel->cells.begin(), panel->cells.end(), &cell) == panel->cells.end()) continue;
    if (best == nullptr || (cell.*figure).median > (best->*figure).median) best = &cell;
  }
  return best;
}

// "replicated on 4 GPUs"; with the batch, if that is not the panel's.
std::string winner_of(const Cell& cell, const Panel* panel) {
  if (panel == nullptr) return title_of(cell);
  return fmt::format("{} on {}", cell.series, devices_text(cell.trial().devices, cell.trial().device_kind));
}

// Of a title, which is quoted without the text around it.
std::string undecided_text(const Cell& cell) { return cell.order == Order::undecided ? " (undecided)" : ""; }

}  // namespace

std::string efficiency_headline(const Comparison& comparison, const Panel* panel) {
  std::size_t most = 2;
  for (const std::size_t index : comparison.ranking) {
    const Cell& cell = comparison.cells[index];
    const bool is_here = panel == nullptr || std::find(panel->cells.begin(), panel->cells.end(), &cell) != panel->cells.end();
    if (is_here && cell.efficiency.count > 0) most = std::max(most, cell.trial().devices);
  }
  const Cell* best = best_row(comparison, &Cell::efficiency, panel, most);
  if (best == nullptr) return "";
  return fmt::format("{} at best on {}, by {}{}", percent_text(best->efficiency.median), devices_text(best->trial().devices, best->trial().device_kind),
                     best->series, undecided_text(*best));
}

std::string speed_up_headline(const Comparison& comparison, const Panel* panel) {
  const Cell* best = best_row(comparison, &Cell::speed_up, panel);
  return best == nullptr ? "" : fmt::format("{:.2f}x at best, by {}{}", best->speed_up.median, winner_of(*best, panel), undecided_text(*best));
}

std::string answer_headline(const Comparison& comparison) {
  const Cell* best = best_on_several(comparison);
  if (best == nullptr) return "";
  return fmt::format("{:.2f}x by {} on {}{}", best->speed_up.median, best->series, devices_text(best->trial().devices, best->trial().device_kind),
                     undecided_text(*best));
}

std::string rate_headline(const Comparison& comparison) {
  const Cell* best = best_row(comparison, &Cell::samples_per_second, nullptr, 1);
  return best == nullptr ? "" : fmt::format("{} at most, by {}", rate_text(best->samples_per_second.median), title_of(*best));
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

std::string most_accurate_headline(const Comparison& comparison) {
  const Cell* best = best_row(comparison, &Cell::accuracy, nullptr, 1);
  return best == nullptr ? "" : fmt::format("{} at best, by {}", accuracy_text(best->accuracy.median), title_of(*best));
}

std::string batch_headline(const Comparison& comparison) {
  std::map<std::size_t, double> best;
  for (const std::size_t index : comparison.ranking) {
    const Cell& cell = comparison.cells[index];
    if (cell.accuracy.count == 0) continue;
    double& accuracy = best[cell.trial().global_batch];
    accuracy = std::max(accuracy, cell.accuracy.median);
  }
  if (best.size() < 2) return "";
  return fmt::format("at best {} at batch {}, {} at batch {}", accuracy_text(best.begin()->second), best.begin()->first,
                     accuracy_text(best.rbegin()->second), best.rbegin()->first);
}

std::string parts_headline(const Comparison& comparison) {
  const Cell* best = best_on_several(comparison);
  if (best == nullptr || !best->breakdown.exists() || !best->breakdown.reliable() || best->breakdown.is_inferred) return "";
  const Breakdown& parts = best->breakdown;
  std::vector<std::pair<double, const char*>> shares = {{parts.compute, "compute"},   {parts.optimizer, "optimiser"}, {parts.exchange, "exchange"},
                                                        {parts.waiting, "waiting"},   {parts.input, "input"},
                                                        {parts.strategy, "the strategy's own work"}, {parts.host, "the host"}};
  std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  return fmt::format("{} takes {} and {} {} of {}", shares[0].second, percent_text(shares[0].first / parts.sum()), shares[1].second,
                     percent_text(shares[1].first / parts.sum()), title_of(*best));
}

std::string bytes_headline(const Comparison& comparison) {
  const auto sends = [](const Cell& cell) { return cell.trial().devices > 1 && cell.bytes_per_step.median > 0; };
  double least = 0, most = 0;
  for (const std::size_t index : comparison.ranking) {
    const Cell& cell = comparison.cells[index];
    if (!sends(cell)) continue;
    least = least > 0 ? std::min(least, cell.bytes_per_step.median) : cell.bytes_per_step.median;
    most = std::max(most, cell.bytes_per_step.median);
  }
  if (!(most > 0)) return "";
  // Strategies that send the same stand together.
  const auto senders = [&](double bytes) {
    std::vector<std::string> names;
    for (const std::size_t index : comparison.ranking) {
      const Cell& cell = comparison.cells[index];
      if (sends(cell) && bytes_text(cell.bytes_per_step.median) == bytes_text(bytes)) names.push_back(cell.series);
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names.size() <= kNamed ? listed(names) : fmt::format("{} strategies", names.size());
  };
  if (bytes_text(least) == bytes_text(most)) return fmt::format("{} at most, by {}", bytes_text(most), senders(most));
  return fmt::format("from {} by {} to {} by {}", bytes_text(least), senders(least), bytes_text(most), senders(most));
}

}  // namespace mgcompare
