#pragma once

// The layout of rows in charts: one series per strategy, with the same look in all charts, and one panel for rows that share
// axes.

#include <set>
#include <span>
#include <string>
#include <vector>

#include "reports/comparison.h"

namespace mgcompare {

struct Series {
  std::string name;                 // plain text
  std::string color;                // from a palette for colour-blind readers, on light and dark backgrounds
  std::string shape;                // name in Vega
  bool dashed = false;
  bool leads = true;                // shown in colour at first; otherwise grey
};

// The colour of baselines, ceilings and series that do not lead.
inline constexpr char kGrey[] = "#8A8A8A";

// One series per strategy, in the order of the config; baselines and ceilings are grey. With many contenders only six lead:
// the best by the objective, by samples/s and among exact strategies, then the next ones in the ranking.
std::vector<Series> all_series(const Comparison& comparison);
// The same for several comparisons, so that a strategy looks the same in all of them.
std::vector<Series> all_series(std::span<const Comparison> comparisons);

// Rows with the same kind of device, scaling and batch; at least one is done.
struct Panel {
  std::string title;                // "batch 128, strong scaling, on cpu"
  DeviceKind device_kind = DeviceKind::cpu;
  ScalingMode scaling = ScalingMode::strong;
  std::size_t hosts = 1;
  std::size_t batch = 0;            // global in strong scaling, per device in weak scaling
  std::vector<const Cell*> cells;   // with results and one rank per device, in the order of the comparison

  std::set<std::size_t> device_counts() const;
};
std::vector<Panel> panels(const Comparison& comparison);

}  // namespace mgcompare
