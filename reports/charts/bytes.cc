#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "reports/charts/chart.h"
#include "reports/charts/headline.h"
#include "reports/findings.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

using namespace chart;

bool sends(const Cell& cell) { return cell.bytes_per_step.count > 0 && cell.bytes_per_step.median > 0; }

double gradient_of(const Cell& cell) { return 4.0 * static_cast<double>(cell.done.front()->result.parameters); }

// One line per strategy, one point per number of devices. Logarithmic, because sizes differ by factors of hundreds.
Json spec_of(const Panel& panel, const std::vector<Series>& series, const std::vector<Panel>& all) {
  Json values = Json::array(), order = Json::array();
  std::set<std::size_t> counts;
  double gradient = 0, least = std::numeric_limits<double>::infinity(), most = 0;
  for (const Panel& one : all) {
    for (const Cell* cell : one.cells) {
      if (!sends(*cell)) continue;
      for (const double bytes : {cell->bytes_per_step.median, gradient_of(*cell)})
        if (bytes > 0) least = std::min(least, bytes), most = std::max(most, bytes);
    }
  }
  for (const Cell* cell : panel.cells) {
    if (!sends(*cell)) continue;
    counts.insert(cell->trial().devices);
    gradient = std::max(gradient, gradient_of(*cell));
    if (std::find(order.begin(), order.end(), cell->series) == order.end()) order.push_back(cell->series);
    values.push_back({{"series", cell->series},
                      {"devices", cell->trial().devices},
                      {"bytes", json_number(cell->bytes_per_step.median)},
                      {"row", title_of(*cell)},
                      {"text", bytes_text(cell->bytes_per_step.median)},
                      {"share", gradient_of(*cell) > 0
                                    ? fmt::format("{:.3g} times", cell->bytes_per_step.median / gradient_of(*cell))
                                    : "-"}});
  }
  Json x = field("bytes", "quantitative", "bytes sent by a rank per step");
  Json decades = Json::array();
  for (double decade = std::pow(10, std::floor(std::log10(least))); decade < 10 * most; decade *= 10) decades.push_back(decade);
  x["scale"] = {{"type", "log"}, {"nice", false}, {"domain", {decades.front(), decades.back()}}};
  x["axis"] = {{"format", "~s"}, {"values", decades}};
  Json y = rows("series", order);
  y["axis"]["grid"] = true;
  Json size = field("devices", "ordinal", "devices");
  size["scale"] = {{"domain", counts}, {"range", {30, 150}}};
  size["legend"] = {{"orient", "top"}, {"symbolFillColor", "#8A8A8A"}, {"symbolStrokeWidth", 0}};
  Json layers = Json::array(
      {{{"mark", {{"type", "point"}, {"filled", true}, {"opacity", 0.85}}},
        {"encoding",
         {{"x", x},
          {"y", y},
          {"size", size},
          {"color", color(series)},
          {"opacity", fading()},
          {"tooltip", tooltip({{"row", "row"}, {"text", "sent per step"}, {"share", "of the gradient"}})}}}}});
  if (gradient > 0) {
    Json at = x;
    at["datum"] = gradient;
    at.erase("field");
    layers.push_back({{"mark", {{"type", "rule"}, {"strokeDash", {4, 4}}, {"opacity", 0.5}, {"color", "currentColor"}}},
                      {"encoding", {{"x", at}}}});
  }
  return frame(static_cast<int>(20 + 20 * order.size()), values, layers, series);
}

}  // namespace

std::vector<ChartGroup> bytes_charts(const Comparison& comparison) {
  ChartGroup group{"Bytes on the wire",
                   "Payload that a rank sends per step, medians over repeats. The dashed line is the gradient in single "
                   "precision; rows that send nothing are left out.",
                   {}};
  const std::vector<Panel> all = panels(comparison);
  const std::vector<Series> series = all_series(comparison);
  for (const Panel& panel : all) {
    if (std::any_of(panel.cells.begin(), panel.cells.end(), [](const Cell* cell) { return sends(*cell); }))
      group.add("bytes", panel.title, [&] { return spec_of(panel, series, all); });
  }
  if (group.charts.empty()) return {};
  group.headline = bytes_headline(comparison);
  return {group};
}

}  // namespace mgcompare
