#pragma once

// Charts as Vega-Lite specifications. Names from configs and plugins are only in the data, never in expressions.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "reports/charts/series.h"
#include "reports/json_number.h"
#include "reports/prediction.h"

namespace mgcompare {

using Json = nlohmann::ordered_json;

struct Chart {
  std::string id;                   // "efficiency-0"; also the name of saved files
  std::string title;
  Json spec;
  std::string headline;             // what this panel shows (headline.h); empty: no single finding
};

// The charts of one subject, one per panel.
struct ChartGroup {
  std::string title;
  std::string caption;
  std::vector<Chart> charts;
  bool by_series = true;            // uses the colours of the series
  std::size_t left_out = 0;         // panels beyond kMaxPanels
  std::string headline;             // what it shows (headline.h); empty: no single finding

  // Adds the chart "efficiency-0", "efficiency-1", ...; beyond kMaxPanels only counts it.
  void add(const char* id, const std::string& panel, const std::function<Json()>& spec, const std::string& headline = "");
};

// Common settings: fonts, and axis colours that follow the page.
Json chart_config();

// The speed-up at the batch of the best row on several devices. None without such a row, or on one number of devices.
std::optional<Chart> glance_chart(const Comparison& comparison);
std::vector<ChartGroup> scaling_charts(const Comparison& comparison);
std::vector<ChartGroup> accuracy_charts(const Comparison& comparison);
// The accuracy of rows of several frameworks that compute in the same way, one panel for each of the program's own rows.
std::vector<ChartGroup> framework_charts(const Comparison& comparison);
std::vector<ChartGroup> time_charts(const Comparison& comparison);
std::vector<ChartGroup> bytes_charts(const Comparison& comparison);
std::vector<ChartGroup> histogram_charts(const Comparison& comparison);
std::vector<ChartGroup> prediction_charts(const Comparison& comparison, const std::vector<Prediction>& predictions);

// Building blocks of the specifications.
namespace chart {

inline constexpr std::size_t kMaxPanels = 6;
inline constexpr int kLabelWidth = 185;                // maximum width of the name of a row, in pixels

// A chart of the width of its container. Parameters: `picked`, the only series that does not fade; `hovered`, the highlighted
// series; `leaders`, the series in colour; the others are grey, in the background, without intervals.
Json frame(int height, Json values, Json layers, const std::vector<Series>& series);
// The same with one line of `pixels` height for each value of the field "label". Rows of grey series are left out;
// `usermeta.row` is the additional height for each row that is shown later.
Json row_frame(int pixels, Json values, Json layers, const std::vector<Series>& series);
// Sentences for captions, beginning with a space: that panels have different scales; that rows of grey series are left out.
std::string scales_text(const ChartGroup& group);
std::string crowd_text(const std::vector<Series>& series);
// The range of a figure's intervals over all panels, so that they have one scale.
std::pair<double, double> extent_of(const std::vector<Panel>& panels, Spread Cell::* figure);
Json field(const char* name, const char* type, const char* title);
Json color(const std::vector<Series>& series);         // encodings of the field "series"
Json shape(const std::vector<Series>& series);
Json dash(const std::vector<Series>& series);
Json fading(double crowd = 0.45);                      // opacity; `crowd`: of grey series while none is picked
Json tooltip(const std::vector<std::pair<const char*, const char*>>& fields);  // name, title

// Axes: logarithmic with powers of two, and names of rows in the given order.
Json doubling(const char* name, const char* title, const std::set<std::size_t>& counts);
Json rows(const char* name, const Json& order);

// Gives leading curves that later ones cover a larger `width`, for lines(), so that all of them are seen. `x`, `y`: the axes of lines().
void widen_covered(Json& values, const Json& x, const Json& y, const std::vector<Series>& series);
// The same on a logarithmic x axis, where curves and their points are also shifted by the place of their series among all.
void set_apart(Json& values, const Json& x, const Json& y, const std::vector<Series>& series);

// Layers with the colours of the series.
Json lines(const std::vector<Series>& series, const Json& x, const Json& y);
Json points(const std::vector<Series>& series, const Json& x, const Json& y, const Json& tips, int size = 75);
// From the field "low" to the field "high" along the axis ("x" or "y").
Json intervals(const std::vector<Series>& series, const Json& x, const Json& y, const char* along);
// Bands of values with `again` are shown only while their series is picked.
Json bands(const std::vector<Series>& series, const Json& x, const Json& y, double opacity);

// Accuracy against "epoch" or "seconds", one curve for each cell. `target`: a line across; 0: none.
Json learning_spec(const std::vector<const Cell*>& rows, const std::vector<Series>& series, const char* against, double target);
// A sentence for its caption, beginning with a space, if curves do not have all of their evaluations; "" otherwise.
std::string thinning_text(const Comparison& comparison);

}  // namespace chart
}  // namespace mgcompare
