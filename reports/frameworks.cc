#include "reports/frameworks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "reports/charts/series.h"
#include "reports/framework.h"
#include "reports/row_order.h"

namespace mgcompare {
namespace {

constexpr double kLeastExplained = 0.5, kMostExplained = 1.5;

bool is_contender(const Cell& cell) { return !cell.many_models && !cell.is_ceiling; }

std::string place_title(const Panel& panel, const std::string& variant) {
  std::string title = fmt::format("batch {}", panel.batch);
  if (panel.scaling == ScalingMode::weak) title += " per device";
  return variant.empty() ? title : fmt::format("{}, {}", title, variant);
}

bool is_usable(const Cell& cell) { return !cell.is_disqualified(); }

// Its accuracies are, whatever its times are.
bool has_usable_accuracies(const Cell& cell) {
  return std::all_of(cell.marks.begin(), cell.marks.end(), [](const Mark& mark) { return mark.kind == MarkKind::too_short || !disqualifies(mark.kind); });
}

// The places of all rows that count, in the order of the comparison.
std::vector<FrameworkPlace> all_places(const Comparison& comparison, bool (*counts)(const Cell&)) {
  std::vector<FrameworkPlace> places;
  if (!comparison.has_frameworks()) return places;
  for (const Panel& panel : panels(comparison)) {
    const std::size_t first = places.size();
    for (const Cell* cell : panel.cells) {
      if (!counts(*cell)) continue;
      const std::string& variant = cell->trial().variant;
      const auto found = std::find_if(places.begin() + static_cast<std::ptrdiff_t>(first), places.end(), [&](const FrameworkPlace& place) {
        return place.cells.front()->trial().variant == variant;
      });
      if (found == places.end()) places.push_back({place_title(panel, variant), {cell}, {}});
      else found->cells.push_back(cell);
    }
  }
  return places;
}

// The titles of all versions: "PyTorch 2.10.0 and 2.11.0" is rare, and then each row says its own.
std::string title_of_framework(const FrameworkPlace& place, const std::string& name) {
  std::string title;
  for (const Cell* cell : place.cells) {
    if (cell->framework != name) continue;
    const std::string own = framework_title(*cell->done.front());
    if (title.empty()) title = own;
    else if (title != own) return name;
  }
  return title;
}

FrameworkRows rows_of(const Comparison& comparison, const FrameworkPlace& place, const std::string& name) {
  FrameworkRows rows{name, title_of_framework(place, name), false, nullptr, nullptr, {}};
  for (const Cell* cell : place.cells) {
    if (cell->framework != name) continue;
    rows.is_own = cell->is_own;
    const bool is_alone = cell->trial().devices == 1;
    if (is_alone && cell->baseline && &comparison.cells[*cell->baseline] == cell) rows.one = cell;
    if (is_alone || !is_contender(*cell)) continue;
    if (rows.several == nullptr || cell->samples_per_second.median > rows.several->samples_per_second.median) rows.several = cell;
  }
  if (rows.several == nullptr || !rows.several->baseline) return rows;
  rows.one = &comparison.cells[*rows.several->baseline];
  rows.ratio = rows.several->speed_up;
  return rows;
}

bool is_exact(const Cell& cell) { return cell.is_exact || cell.is_baseline; }

// What a step on several devices takes besides its share of the step on one, in seconds.
double cost_of(const FrameworkRows& rows) {
  const double step = rows.one->step_seconds.median;
  return step / rows.ratio.median - step / static_cast<double>(rows.several->trial().devices);
}

// Rows of other frameworks, each with a row of the program itself that computes in the same way.
std::vector<std::pair<const Cell*, const Cell*>> rows_alike(const std::vector<FrameworkPlace>& places) {
  std::vector<std::pair<const Cell*, const Cell*>> pairs;
  for (const FrameworkPlace& place : places) {
    for (const Cell* cell : place.cells) {
      const std::string like = like_of(*cell->done.front());
      if (cell->is_own || like.empty()) continue;
      for (const Cell* own : place.cells)
        if (own->is_own && own->trial().devices == cell->trial().devices && like_of(*own->done.front()) == like) pairs.emplace_back(cell, own);
    }
  }
  return pairs;
}

}  // namespace

std::vector<FrameworkPlace> framework_places(const Comparison& comparison) {
  std::vector<FrameworkPlace> places = all_places(comparison, is_usable);
  for (FrameworkPlace& place : places) {
    std::vector<std::string> names;
    for (const Cell* cell : place.cells)
      if (std::find(names.begin(), names.end(), cell->framework) == names.end()) names.push_back(cell->framework);
    for (const std::string& name : names) place.frameworks.push_back(rows_of(comparison, place, name));
    std::stable_partition(place.frameworks.begin(), place.frameworks.end(), [](const FrameworkRows& rows) { return rows.is_own; });
  }
  std::erase_if(places, [](const FrameworkPlace& place) { return place.frameworks.size() < 2; });
  return places;
}

std::vector<LikePair> like_pairs(const Comparison& comparison) {
  std::vector<LikePair> pairs;
  for (const auto& [cell, own] : rows_alike(all_places(comparison, is_usable)))
    pairs.push_back({cell, own, ratio(cell->done, own->done, throughput), Order::undecided});
  std::vector<RowPair> rows;
  for (const LikePair& pair : pairs) rows.push_back({pair.cell, pair.own, &pair.ratio});
  const std::vector<RowOrder> orders = order_rows(comparison.cells, rows, throughput_figure());
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i].order = orders[i].order;
  return pairs;
}

const char* order_text(Order order) {
  return order == Order::above ? "faster" : order == Order::below ? "slower" : "undecided";
}

StepEffect step_effect(const FrameworkRows& own, const FrameworkRows& other) {
  if (own.ratio.count == 0 || other.ratio.count == 0) return {};
  if (own.several->trial().devices != other.several->trial().devices) return {};
  const double mine = own.one->step_seconds.median, its = other.one->step_seconds.median;
  if (!(mine > 0) || !(its > 0)) return {};
  StepEffect effect{StepReason::not_by_step, std::numeric_limits<double>::quiet_NaN(), cost_of(own), cost_of(other)};
  const double step = its / static_cast<double>(own.several->trial().devices) + effect.own_cost;
  if (step > 0) effect.estimate = its / step;
  const Order order = compare(own.ratio, other.ratio);
  if (order == Order::undecided) {
    effect.reason = StepReason::undecided;
    return effect;
  }
  const bool is_shorter = mine < its, is_lower = order == Order::below;
  const double explained = (effect.estimate - own.ratio.median) / (other.ratio.median - own.ratio.median);
  if (is_shorter == is_lower && explained >= kLeastExplained && explained <= kMostExplained) effect.reason = StepReason::by_step;
  return effect;
}

std::vector<Coincidence> framework_coincidences(const Comparison& comparison) {
  std::vector<Coincidence> all;
  for (const auto& [cell, own] : rows_alike(all_places(comparison, has_usable_accuracies))) {
    const Coincidence found = coincidence_of(*cell, *own, is_exact(*cell) && is_exact(*own));
    if (!found.epochs.empty()) all.push_back(found);
  }
  return all;
}

}  // namespace mgcompare
