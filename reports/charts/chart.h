#pragma once

// Charts as Vega-Lite specifications. What they say stands in their data; no name of a config or a plugin becomes part
// of an expression.

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "reports/charts/series.h"
#include "reports/prediction.h"

namespace mgcompare {

using Json = nlohmann::ordered_json;

struct Chart {
  std::string id;                   // "efficiency-0"; names saved files too
  std::string title;
  Json spec;
};

// The charts of one subject side by side, one a panel.
struct ChartGroup {
  std::string title;
  std::string caption;
  std::vector<Chart> charts;
  bool by_series = true;            // colours are those of the series
  std::size_t left_out = 0;         // panels beyond the most that a page shows

  // One more, called "efficiency-0", "efficiency-1", ..; beyond the most it only counts, and makes no specification.
  void add(const char* id, const std::string& panel, const std::function<Json()>& spec);
};

// What all of them share: fonts and the colours of axes, which follow the page.
Json chart_config();

std::vector<ChartGroup> scaling_charts(const Comparison& comparison);
std::vector<ChartGroup> accuracy_charts(const Comparison& comparison);
std::vector<ChartGroup> time_charts(const Comparison& comparison);
std::vector<ChartGroup> bytes_charts(const Comparison& comparison);
std::vector<ChartGroup> histogram_charts(const Comparison& comparison);
std::vector<ChartGroup> prediction_charts(const Comparison& comparison, const std::vector<Prediction>& predictions);

// What these are made of.
namespace chart {

inline constexpr std::size_t kMostPanels = 6;
inline constexpr int kLabelWidth = 185;                // pixels that a row's name may take from a chart

// A chart as wide as its place. Its parameters: `picked`, all but one series fade; `hovered`, one stands out; `leaders`, the
// others are a grey crowd behind them, without intervals.
Json frame(int height, Json values, Json layers, const std::vector<Series>& series);
// The same with a line so high for each row, by the field "label"; those of the crowd are left out, and `usermeta.row` says how
// much higher the chart gets by a row that comes in.
Json row_frame(int pixels, Json values, Json layers, const std::vector<Series>& series);
// For captions, with a space before it: where panels have scales of their own, and where rows of the crowd are left out.
std::string scales_text(const ChartGroup& group);
std::string crowd_text(const std::vector<Series>& series);
// The least and the most of a figure's intervals, so that all panels have one scale.
std::pair<double, double> extent_of(const std::vector<Panel>& panels, Spread Cell::* figure);
Json number(double value);                             // null where it is not finite
Json field(const char* name, const char* type, const char* title);
Json color(const std::vector<Series>& series);         // encodings of the field "series"
Json shape(const std::vector<Series>& series);
Json dash(const std::vector<Series>& series);
Json fading(double crowd = 0.45);                       // opacity; of the crowd while no series is picked
Json tooltip(const std::vector<std::pair<const char*, const char*>>& fields);  // name, title

// Axes: counts that double, and rows by their names, in this order.
Json doubling(const char* name, const char* title, const std::set<std::size_t>& counts);
Json rows(const char* name, const Json& order);

// Layers in the colours of the series.
Json lines(const std::vector<Series>& series, const Json& x, const Json& y);
Json points(const std::vector<Series>& series, const Json& x, const Json& y, const Json& tips, int size = 75);
// From the field "low" to the field "high" along the axis ("x" or "y").
Json intervals(const std::vector<Series>& series, const Json& x, const Json& y, const char* along);
// Those of the field "again" only while their series is picked.
Json bands(const std::vector<Series>& series, const Json& x, const Json& y, double opacity);

}  // namespace chart
}  // namespace mgcompare
