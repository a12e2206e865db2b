#include "reports/charts/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "reports/text.h"

namespace mgcompare {

std::vector<Series> all_series(const Comparison& comparison) {
  // Coprime counts: 42 looks before one comes again.
  constexpr std::array kColors = {"#0064BD", "#D07207", "#00A875", "#BE76B0", "#DD2140", "#9800F8"};
  constexpr std::array kShapes = {"circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"};
  std::vector<Series> all;
  std::size_t number = 0;
  for (const Cell& cell : comparison.cells) {
    const std::string name = cell.series;
    if (cell.done.empty() || std::any_of(all.begin(), all.end(), [&](const Series& one) { return one.name == name; }))
      continue;
    if (cell.is_baseline || cell.is_ceiling) {
      all.push_back({name, "#8A8A8A", cell.is_baseline ? "circle" : "square", true});
      continue;
    }
    all.push_back({name, kColors[number % kColors.size()], kShapes[number % kShapes.size()], number >= kColors.size()});
    ++number;
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
  std::set<std::string> scalings;
  std::set<DeviceKind> kinds;
  for (const Cell& cell : comparison.cells) {
    const TrialKey& trial = cell.trial();
    if (cell.done.empty() || trial.ranks_per_device != 1) continue;
    const std::size_t batch = trial.scaling == "weak" ? trial.global_batch / std::max<std::size_t>(1, trial.devices)
                                                      : trial.global_batch;
    auto panel = std::find_if(all.begin(), all.end(), [&](const Panel& one) {
      return one.device_kind == trial.device_kind && one.scaling == trial.scaling && one.batch == batch;
    });
    if (panel == all.end()) panel = all.insert(all.end(), {"", trial.device_kind, trial.scaling, batch, {}});
    panel->cells.push_back(&cell);
    scalings.insert(trial.scaling);
    kinds.insert(trial.device_kind);
  }
  for (Panel& panel : all) {
    panel.title = fmt::format("{} {}", panel.scaling == "weak" ? "batch per device" : "global batch", panel.batch);
    if (scalings.size() > 1) panel.title += fmt::format(", {} scaling", plain(panel.scaling));
    if (kinds.size() > 1) panel.title += fmt::format(", on {}", to_string(panel.device_kind));
  }
  std::stable_sort(all.begin(), all.end(), [](const Panel& a, const Panel& b) {
    return std::tuple(a.scaling, b.device_kind, a.batch) < std::tuple(b.scaling, a.device_kind, b.batch);
  });
  return all;
}

}  // namespace mgcompare
