#include "reports/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include <nlohmann/json.hpp>

#include "reports/comparison_text.h"
#include "reports/table_rows.h"
#include "reports/text.h"
#include "reports/titles.h"

namespace mgcompare {
namespace {

constexpr double kSecondsOfHour = 3600;

double cost(double device_seconds, double price) {
  return price > 0 ? device_seconds * price / kSecondsOfHour : std::numeric_limits<double>::quiet_NaN();
}

double missed_share(const Cell& cell) {
  return static_cast<double>(cell.done.size() - cell.reached_target) / static_cast<double>(cell.done.size());
}

}  // namespace

double price_of(const Run& run) {
  const nlohmann::json config = nlohmann::json::parse(run.info.config_json, nullptr, false);
  if (!config.is_object()) return 0;
  const auto found = config.find("price_per_device_hour");
  if (found == config.end() || !found->is_number()) return 0;
  const auto price = found->get<double>();
  return std::isfinite(price) && price > 0 ? price : 0;
}

double cost_of_training(const Row& row, double price_per_device_hour) { return cost(device_seconds(row), price_per_device_hour); }

double cost_to_target(const Row& row, double price_per_device_hour) { return cost(device_seconds_to_target(row), price_per_device_hour); }

Spread cost_of(const Comparison& comparison, const Cell& cell) {
  if (!(comparison.price_per_device_hour > 0)) return {};
  return scaled(comparison.target_reached ? cell.device_seconds_to_target : cell.device_seconds, comparison.price_per_device_hour / kSecondsOfHour);
}

std::string cost_text(double cost) {
  if (!std::isfinite(cost)) return "-";
  return std::abs(cost) < 100 ? fmt::format("{:.3g}", cost) : count_text(cost);
}

std::string cost_scope(const Comparison& comparison) {
  return comparison.target_reached ? "to " + target_text(comparison.target_accuracy) : "of the training";
}

std::vector<const Cell*> cheapest_rows(const Comparison& comparison) {
  if (!(comparison.price_per_device_hour > 0)) return {};
  const Comparison ranked = ranked_by(comparison, Objective::device_seconds);
  std::vector<const Cell*> rows;
  double limit = 0, missed = 0;
  for (const std::size_t index : ranked.ranking) {
    const Cell& cell = comparison.cells[index];
    const Spread its = cost_of(comparison, cell);
    if (its.count == 0) continue;
    if (rows.empty()) {
      limit = its.high;
      missed = missed_share(cell);
    }
    // A row that reaches the target less often is no equal choice.
    if (comparison.target_reached && missed_share(cell) > missed) continue;
    if (its.low <= limit) rows.push_back(&cell);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const Cell* a, const Cell* b) {
    return std::tuple(a->trial().devices, cost_of(comparison, *a).median) < std::tuple(b->trial().devices, cost_of(comparison, *b).median);
  });
  return rows;
}

std::string cost_sentence(const Comparison& comparison) {
  const std::vector<const Cell*> rows = cheapest_rows(comparison);
  if (rows.empty()) return "";
  const Cell& chosen = *rows.front();
  std::string text = fmt::format("Cheapest {}: {}, at {}", comparison.target_reached ? cost_scope(comparison) : "training", winner_title(chosen),
                                 with_range(cost_of(comparison, chosen), cost_text));
  if (comparison.target_reached) text += some_repeats(chosen);
  if (rows.size() > 1) {
    const std::vector<const Cell*> others(rows.begin() + 1, rows.end());
    text += fmt::format("; within its noise: {}", titles_of(others));
  }
  if (chosen.done.size() < kDecisiveRepeats) text += fmt::format(" ({})", doubt_of(cost_of(comparison, chosen), cost_of(comparison, chosen)));
  return text;
}

Table cost_table(const Comparison& comparison) {
  if (!(comparison.price_per_device_hour > 0)) return {};
  const std::vector<const Cell*> cheapest = cheapest_rows(comparison);
  const auto line = [&](const Cell& cell) {
    const auto found = std::find(cheapest.begin(), cheapest.end(), &cell);
    std::string over = "-";
    if (cell.baseline) {
      const auto figure = comparison.target_reached ? device_seconds_to_target : device_seconds;
      over = in_two(with_range(ratio(cell.done, comparison.cells[*cell.baseline].done, figure)));
    }
    return with(identity(cell), {in_two(with_range(cost_of(comparison, cell), cost_text)), over,
                                 found == cheapest.end() ? "-" : found == cheapest.begin() ? "cheapest" : "within noise"});
  };
  return {fmt::format("Cost {}", cost_scope(comparison)),
          fmt::format("At a price of {:g} per device and hour, for the time of training alone: devices times hours times price. The price has no "
                      "currency. Within noise: the intervals overlap that of the lowest median; of these rows the one with the fewest devices is "
                      "called the cheapest.",
                      comparison.price_per_device_hour),
          {"strategy", "devices", "global batch", "cost", "times the cost of the baseline", "choice"},
          2,
          lines_of(comparison, line)};
}

}  // namespace mgcompare
