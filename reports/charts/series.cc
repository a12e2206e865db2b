#include "reports/charts/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "plan/listed_batch.h"
#include "reports/answer.h"
#include "reports/findings.h"
#include "reports/text.h"

namespace mgcompare {

namespace {

// With at least kCrowd contenders, only kLeaders lead.
constexpr std::size_t kCrowd = 8, kLeaders = 6;

// The names of the series that should lead, first the one that should most.
std::vector<std::string> leaders_of(const Comparison& comparison) {
  std::vector<const Cell*> best, exact;
  for (const std::size_t index : comparison.ranking) {
    const Cell& cell = comparison.cells[index];
    if (cell.is_baseline || cell.trial().devices < 2) continue;
    best.push_back(&cell);
    if (cell.is_exact) exact.push_back(&cell);
  }
  std::vector<const Cell*> wanted;
  if (const Cell* answer = best_on_several(comparison)) wanted.push_back(answer);
  if (!best.empty()) {
    wanted.push_back(best.front());
    wanted.push_back(*std::max_element(best.begin(), best.end(), [](const Cell* a, const Cell* b) {
      return a->samples_per_second.median < b->samples_per_second.median;
    }));
  }
  if (!exact.empty()) wanted.push_back(exact.front());
  wanted.insert(wanted.end(), best.begin(), best.end());
  std::vector<std::string> leaders;
  for (const Cell* cell : wanted)
    if (std::find(leaders.begin(), leaders.end(), cell->series) == leaders.end()) leaders.push_back(cell->series);
  return leaders;
}

// In turns those of each comparison.
std::set<std::string> leaders_of(std::span<const Comparison> comparisons) {
  std::vector<std::vector<std::string>> wanted;
  std::size_t longest = 0;
  for (const Comparison& comparison : comparisons) longest = std::max(longest, wanted.emplace_back(leaders_of(comparison)).size());
  std::set<std::string> leaders;
  for (std::size_t place = 0; place < longest; ++place)
    for (const std::vector<std::string>& names : wanted)
      if (place < names.size() && leaders.size() < kLeaders) leaders.insert(names[place]);
  return leaders;
}

}  // namespace

std::vector<Series> all_series(const Comparison& comparison) {
  return comparison.looks ? *comparison.looks : all_series(std::span(&comparison, 1));
}

std::vector<Series> all_series(std::span<const Comparison> comparisons) {
  // Coprime numbers of colours and shapes give 42 different looks.
  constexpr std::array kColors = {"#0064BD", "#D07207", "#00A875", "#BE76B0", "#DD2140", "#9800F8"};
  constexpr std::array kShapes = {"circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"};
  std::vector<Series> all;
  std::size_t contenders = 0;
  for (const Comparison& comparison : comparisons) {
    for (const Cell& cell : comparison.cells) {
      const std::string name = cell.series;
      if (cell.done.empty() || std::any_of(all.begin(), all.end(), [&](const Series& one) { return one.name == name; }))
        continue;
      if (cell.is_baseline || cell.is_ceiling) {
        all.push_back({name, kGrey, cell.is_baseline ? "circle" : "square", true});
      } else {
        all.push_back({name, "", "", false});
        ++contenders;
      }
    }
  }
  const std::set<std::string> leaders = contenders < kCrowd ? std::set<std::string>() : leaders_of(comparisons);
  // Leading series first, so that all of them look different.
  std::size_t number = 0;
  for (const bool leads : {true, false}) {
    for (Series& one : all) {
      if (!one.color.empty() || (leaders.empty() || leaders.contains(one.name)) != leads) continue;
      one = {one.name, kColors[number % kColors.size()], kShapes[number % kShapes.size()], number >= kColors.size(), leads};
      ++number;
    }
  }
  return all;
}

std::set<std::size_t> Panel::device_counts() const {
  std::set<std::size_t> counts;
  for (const Cell* cell : cells) counts.insert(cell->trial().devices);
  return counts;
}

std::vector<Panel> panels(const Comparison& comparison) {
  std::vector<Panel> all;
  std::set<ScalingMode> scalings;
  std::set<DeviceKind> kinds;
  for (const Cell& cell : comparison.cells) {
    const TrialKey& trial = cell.trial();
    if (cell.done.empty() || trial.ranks_per_device != 1) continue;
    const std::size_t batch = listed_batch(trial);
    auto panel = std::find_if(all.begin(), all.end(), [&](const Panel& one) {
      return one.device_kind == trial.device_kind && one.scaling == trial.scaling && one.hosts == trial.hosts && one.batch == batch;
    });
    if (panel == all.end()) panel = all.insert(all.end(), {"", trial.device_kind, trial.scaling, trial.hosts, batch, {}});
    panel->cells.push_back(&cell);
    scalings.insert(trial.scaling);
    kinds.insert(trial.device_kind);
  }
  for (Panel& panel : all) {
    panel.title = fmt::format("{} {}", panel.scaling == ScalingMode::weak ? "batch per device" : "global batch", panel.batch);
    if (scalings.size() > 1) panel.title += fmt::format(", {} scaling", to_string(panel.scaling));
    if (panel.hosts > 1) panel.title += fmt::format(", on {} hosts", panel.hosts);
    if (kinds.size() > 1) panel.title += fmt::format(", on {}", to_string(panel.device_kind));
  }
  std::stable_sort(all.begin(), all.end(), [](const Panel& a, const Panel& b) {
    return std::tuple(a.scaling, b.device_kind, a.hosts, a.batch) < std::tuple(b.scaling, a.device_kind, b.hosts, b.batch);
  });
  return all;
}

}  // namespace mgcompare
