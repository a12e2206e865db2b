#include <fmt/format.h>

#include <algorithm>

#include "reports/charts/chart.h"
#include "reports/charts/headline.h"
#include "reports/findings.h"
#include "reports/tables.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

using namespace chart;

struct Part {
  const char* name;
  double Breakdown::* seconds;
  const char* color;
};

constexpr Part kParts[] = {{"compute", &Breakdown::compute, "#0072B2"},   {"optimiser", &Breakdown::optimizer, "#56B4E9"},
                           {"exchange", &Breakdown::exchange, "#D55E00"}, {"waiting", &Breakdown::waiting, "#E69F00"},
                           {"input", &Breakdown::input, "#CC79A7"},       {"strategy", &Breakdown::strategy, "#009E73"},
                           {"host", &Breakdown::host, "#8A8A8A"}};

// Whether the parts were measured and are reliable.
bool has_reliable_parts(const Cell& cell) { return cell.breakdown.reliable() && !cell.breakdown.is_inferred; }

Json parts_of(const Cell& cell, const std::string& label) {
  Json values = Json::array();
  int order = 0;
  for (const Part& part : kParts) {
    const double seconds = cell.breakdown.*part.seconds;
    ++order;
    if (seconds <= 0) continue;
    values.push_back({{"series", cell.series},
                      {"label", label},
                      {"part", part.name},
                      {"order", order},
                      {"ms", json_number(seconds * 1e3)},
                      {"row", title_of(cell)},
                      {"text", fmt::format("{}, {} of the step", seconds_text(seconds),
                                           percent_text(seconds / cell.breakdown.sum()))},
                      {"step", seconds_text(cell.breakdown.step)},
                      {"reliable", has_reliable_parts(cell)}});
  }
  return values;
}

Json breakdown_spec(const Panel& panel, const std::vector<Series>& series) {
  Json values = Json::array(), order = Json::array();
  for (const Cell* cell : panel.cells) {
    if (!cell->breakdown.exists()) continue;
    // The mark comes first, because the end of a long name is cut off.
    const std::string label =
        fmt::format("{}{} \u00d7 {}", has_reliable_parts(*cell) ? "" : "? ", cell->series, cell->trial().devices);
    order.push_back(label);
    const Json parts = parts_of(*cell, label);
    values.insert(values.end(), parts.begin(), parts.end());
  }
  Json names = Json::array(), colors = Json::array();
  for (const Part& part : kParts) names.push_back(part.name), colors.push_back(part.color);
  Json x = field("ms", "quantitative", "milliseconds per step");
  x["axis"] = {{"tickCount", 6}};
  x["stack"] = "zero";
  Json part = field("part", "nominal", nullptr);
  part["scale"] = {{"domain", names}, {"range", colors}};
  part["legend"] = {{"orient", "top"}, {"columns", 2}, {"symbolType", "square"}};
  const Json layers = Json::array(
      {{{"mark", {{"type", "bar"}, {"height", {{"band", 0.72}}}}},
        {"encoding",
         {{"x", x},
          {"y", rows("label", order)},
          {"color", part},
          {"order", {{"field", "order"}, {"type", "quantitative"}}},
          {"opacity", fading(1)},
          {"fillOpacity", {{"condition", {{"test", "!datum.reliable"}, {"value", 0.4}}}, {"value", 1}}},
          {"tooltip", tooltip({{"row", "row"}, {"part", "part"}, {"text", "time"}, {"step", "step"}})}}}}});
  return row_frame(22, values, layers, series);
}

// Explains pale bars, if there are any.
std::string doubts_text(const Comparison& comparison) {
  const bool has_doubts = std::any_of(comparison.cells.begin(), comparison.cells.end(),
                                      [](const Cell& cell) { return cell.breakdown.exists() && !has_reliable_parts(cell); });
  return has_doubts ? " Pale, with a ?: the parts do not sum to the training clock of a rank within 2 %, exchange was not measured, or "
                      "an older version measured less."
                    : "";
}

}  // namespace

std::vector<ChartGroup> time_charts(const Comparison& comparison) {
  ChartGroup group{"The parts of a step",
                   "Means over steps, ranks and repeats. Exchange is the part that does not overlap compute. " +
                       origin_of_parts(comparison) + doubts_text(comparison),
                   {},
                   false};
  const std::vector<Series> series = all_series(comparison);
  for (const Panel& panel : panels(comparison)) {
    if (std::any_of(panel.cells.begin(), panel.cells.end(), [](const Cell* cell) { return cell->breakdown.exists(); }))
      group.add("breakdown", panel.title, [&] { return breakdown_spec(panel, series); });
  }
  if (group.charts.empty()) return {};
  group.headline = parts_headline(comparison);
  group.caption += scales_text(group) + crowd_text(series);
  return {group};
}

}  // namespace mgcompare
