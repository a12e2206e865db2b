#pragma once

// How the rows of a comparison are laid out in charts: a series a strategy, with a look that stays the same in all of
// them, and a panel for rows that may share one pair of axes.

#include <set>
#include <string>
#include <vector>

#include "reports/comparison.h"

namespace mgcompare {

struct Series {
  std::string name;                 // plain text
  std::string color;                // colour-blind readers can tell all of them apart, on light ground and on dark
  std::string shape;                // Vega's name
  bool dashed = false;
  bool leads = true;                // in its colour from the start, before the grey of a crowd
};

// Of what is not a contender, and of the crowd behind those that lead.
inline constexpr char kGrey[] = "#8A8A8A";

// One look a series, in the config's order; baselines and ceilings are grey. Of more contenders than can be told apart at a
// glance a few lead, by their figures alone: the best by the objective, by samples/s and of those that promise what one
// device would compute, and whoever comes next in the ranking.
std::vector<Series> all_series(const Comparison& comparison);

// Rows of one kind of device, one way of scaling and one batch, of which at least one is done.
struct Panel {
  std::string title;                // "batch 128, strong scaling, on cpu"
  DeviceKind device_kind = DeviceKind::cpu;
  ScalingMode scaling = ScalingMode::strong;
  std::size_t batch = 0;            // global in strong scaling, else per device
  std::vector<const Cell*> cells;   // with a result, one rank a device, in the comparison's order

  std::set<std::size_t> device_counts() const;
};
std::vector<Panel> panels(const Comparison& comparison);

}  // namespace mgcompare
