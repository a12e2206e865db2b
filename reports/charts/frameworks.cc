#include <fmt/format.h>

#include <algorithm>

#include "reports/charts/chart.h"
#include "reports/frameworks.h"
#include "reports/titles.h"

namespace mgcompare {
namespace {

// Curves that coincide hide each other. The program's own one is therefore also a wide, pale line below all others.
Json framework_spec(const std::vector<const Cell*>& cells, const std::vector<Series>& series, double target) {
  Json spec = chart::learning_spec(cells, series, "epoch", target);
  for (Json& value : spec["data"]["values"]) value["own"] = value["series"] == cells.front()->series;
  Json& layers = spec["layer"];
  const auto line = std::find_if(layers.begin(), layers.end(), [](const Json& layer) { return layer["mark"]["type"] == "line"; });
  Json below = *line;
  below["mark"] = {{"type", "line"}, {"strokeWidth", 10}, {"strokeCap", "round"}, {"opacity", 0.35}};
  below["transform"] = Json::array({{{"filter", "datum.own"}}});
  below["encoding"].erase("opacity");
  below["encoding"].erase("strokeWidth");
  layers.insert(layers.begin(), below);
  return spec;
}

}  // namespace

std::vector<ChartGroup> framework_charts(const Comparison& comparison) {
  ChartGroup group{"Accuracy by epoch in each framework",
                   "Rows that compute in the same way, from the same weights and samples in the same order. Medians with 95 % "
                   "intervals (up to five repeats: their range). The wide line is the program's own row; curves that coincide lie on it.",
                   {}};
  std::vector<std::vector<const Cell*>> panels;  // first the program's own row
  for (const Coincidence& pair : framework_coincidences(comparison)) {
    const auto found = std::find_if(panels.begin(), panels.end(), [&](const auto& cells) { return cells.front() == pair.other; });
    if (found == panels.end()) panels.push_back({pair.other, pair.one});
    else found->push_back(pair.one);
  }
  const std::vector<Series> series = all_series(comparison);
  for (const auto& cells : panels)
    group.add("frameworks", "as " + title_of(*cells.front()), [&] { return framework_spec(cells, series, comparison.target_accuracy); });
  group.caption += chart::scales_text(group) + chart::thinning_text(comparison);
  if (group.charts.empty()) return {};
  return {group};
}

}  // namespace mgcompare
