#include <fmt/format.h>

#include <algorithm>

#include "reports/charts/chart.h"
#include "reports/frameworks.h"
#include "reports/titles.h"

namespace mgcompare {

std::vector<ChartGroup> framework_charts(const Comparison& comparison) {
  ChartGroup group{"Accuracy by epoch in each framework",
                   "Exact rows that compute in the same way, from the same weights and samples in the same order. Medians with 95 % "
                   "intervals (up to five repeats: their range).",
                   {}};
  std::vector<std::vector<const Cell*>> panels;  // first the program's own row
  for (const Coincidence& pair : framework_coincidences(comparison)) {
    const auto found = std::find_if(panels.begin(), panels.end(), [&](const auto& cells) { return cells.front() == pair.other; });
    if (found == panels.end()) panels.push_back({pair.other, pair.one});
    else found->push_back(pair.one);
  }
  const std::vector<Series> series = all_series(comparison);
  for (const auto& cells : panels)
    group.add("frameworks", "as " + title_of(*cells.front()), [&] { return chart::learning_spec(cells, series, "epoch", comparison.target_accuracy); });
  group.caption += chart::scales_text(group);
  if (group.charts.empty()) return {};
  return {group};
}

}  // namespace mgcompare
