#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "reports/answer.h"
#include "reports/charts/chart.h"
#include "reports/charts/headline.h"
#include "reports/findings.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

using namespace chart;

// A point of a curve, without its x value.
Json value_of(const Cell& cell, const Spread& y) {
  return {{"series", cell.series},
          {"y", json_number(y.median)},
          {"low", json_number(y.low)},
          {"high", json_number(y.high)},
          {"row", title_of(cell)},
          {"speed-up", with_range(cell.speed_up)},
          {"efficiency", with_range(cell.efficiency, percent_text)},
          {"samples/s", with_range(cell.samples_per_second, rate_text)},
          {"repeats", fmt::format("{}", cell.done.size())}};
}

Json values_of(const Panel& panel, Spread Cell::* figure) {
  Json values = Json::array();
  for (const Cell* cell : panel.cells) {
    const Spread& spread = cell->*figure;
    if (spread.count == 0) continue;
    values.push_back(value_of(*cell, spread));
    values.back()["x"] = cell->trial().devices;
  }
  return values;
}

// Line, interval and point of each series.
Json curves(const std::vector<Series>& series, const Json& x, const Json& y) {
  const Json tips = tooltip({{"row", "row"},
                             {"efficiency", "efficiency"},
                             {"speed-up", "speed-up"},
                             {"samples/s", "samples/s"},
                             {"repeats", "repeats"}});
  return Json::array({lines(series, x, y), intervals(series, x, y, "y"),
                      points(series, x, y, tips)});
}

Json reference_line(Json values, const Json& x, const Json& y) {
  return {{"data", {{"values", std::move(values)}}},
          {"mark", {{"type", "line"}, {"color", "currentColor"}, {"opacity", 0.6}, {"strokeDash", {2, 3}}}},
          {"encoding", {{"x", x}, {"y", y}}}};
}

Json efficiency_spec(const Panel& panel, const std::vector<Series>& series, const std::vector<Panel>& all) {
  const double most = std::max(1.1, extent_of(all, &Cell::efficiency).second * 1.03);
  const Json x = doubling("x", "devices", panel.device_counts());
  Json y = field("y", "quantitative", "efficiency");
  y["scale"] = {{"domain", {0, most}}, {"nice", false}};
  y["axis"] = {{"format", "%"}, {"tickCount", 6}};
  Json layers = curves(series, x, y);
  const Json domain = x["scale"]["domain"];
  layers.insert(layers.begin(), reference_line({{{"x", domain[0]}, {"y", 1}}, {{"x", domain[1]}, {"y", 1}}}, x, y));
  Json values = values_of(panel, &Cell::efficiency);
  set_apart(values, x, y, series);
  return frame(270, values, layers, series);
}

Json speed_up_spec(const Panel& panel, const std::vector<Series>& series, const std::vector<Panel>& all) {
  auto [least, most] = extent_of(all, &Cell::speed_up);
  least = std::min(least, 1.0);
  for (const Panel& one : all) most = std::max(most, static_cast<double>(*one.device_counts().rbegin()));
  const Json x = doubling("x", "devices", panel.device_counts());
  Json ticks = Json::array();
  for (double tick = std::exp2(std::floor(std::log2(std::max(least, 1e-3)))); tick <= most * 1.2; tick *= 2)
    ticks.push_back(tick);
  Json y = field("y", "quantitative", "speed-up");
  y["scale"] = {{"type", "log"}, {"base", 2}, {"nice", false}, {"domain", {std::max(least, 1e-3) * 0.92, most * 1.1}}};
  y["axis"] = {{"values", ticks}, {"format", "~g"}};
  const double first = x["scale"]["domain"][0], last = x["scale"]["domain"][1];
  Json layers = curves(series, x, y);
  layers.insert(layers.begin(), reference_line({{{"x", std::max(1.0, first)}, {"y", std::max(1.0, first)}},
                                                {{"x", last}, {"y", last}}},
                                               x, y));
  layers[0]["mark"]["clip"] = true;
  Json values = values_of(panel, &Cell::speed_up);
  set_apart(values, x, y, series);
  return frame(270, values, layers, series);
}

bool has_curve(const Panel& panel, Spread Cell::* figure) {
  return panel.device_counts().size() > 1 &&
         std::any_of(panel.cells.begin(), panel.cells.end(), [&](const Cell* cell) { return (cell->*figure).count > 0; });
}

ChartGroup over_devices(const Comparison& comparison, const char* id, Spread Cell::* figure,
                        Json (*spec)(const Panel&, const std::vector<Series>&, const std::vector<Panel>&),
                        std::string (*headline)(const Comparison&, const Panel*)) {
  const std::vector<Series> series = all_series(comparison);
  std::vector<Panel> all = panels(comparison);
  std::erase_if(all, [&](const Panel& panel) { return !has_curve(panel, figure); });
  ChartGroup group;
  for (const Panel& panel : all) group.add(id, panel.title, [&] { return spec(panel, series, all); }, headline(comparison, &panel));
  group.headline = headline(comparison, nullptr);
  return group;
}

// Samples/s against the batch, one chart for each number of devices.
ChartGroup rate_over_batches(const Comparison& comparison) {
  ChartGroup group{"Samples/s against batch",
                   "One chart for each number of devices; both axes are logarithmic. A larger batch gives each device more work "
                   "between two exchanges.",
                   {}};
  group.headline = rate_headline(comparison);
  const std::vector<Series> series = all_series(comparison);
  struct Place {
    ScalingMode scaling;
    DeviceKind kind;
    std::size_t devices;
    auto operator<=>(const Place&) const = default;
  };
  std::map<Place, std::vector<std::pair<std::size_t, const Cell*>>> places;
  const std::vector<Panel> every = panels(comparison);
  const auto [least, most] = extent_of(every, &Cell::samples_per_second);
  for (const Panel& panel : every) {
    for (const Cell* cell : panel.cells)
      places[{panel.scaling, panel.device_kind, cell->trial().devices}].emplace_back(panel.batch, cell);
  }
  for (const auto& [place, cells] : places) {
    std::set<std::size_t> batches;
    for (const auto& [batch, cell] : cells) batches.insert(batch);
    if (batches.size() < 2) continue;
    group.add("batch", devices_text(place.devices, place.kind), [&, &place = place, &cells = cells, least = least, most = most] {
      Json values = Json::array();
      for (const auto& [batch, cell] : cells) {
        values.push_back(value_of(*cell, cell->samples_per_second));
        values.back()["x"] = batch;
      }
      const Json x = doubling("x", place.scaling == ScalingMode::weak ? "batch per device" : "global batch", batches);
      Json y = field("y", "quantitative", "samples/s");
      y["scale"] = {{"type", "log"}, {"nice", false}, {"domain", {std::max(least, 1e-3) * 0.85, most * 1.2}}};
      y["axis"] = {{"format", "~s"}, {"tickCount", 5}};
      set_apart(values, x, y, series);
      return frame(250, values, curves(series, x, y), series);
    });
  }
  return group;
}

}  // namespace

std::optional<Chart> glance_chart(const Comparison& comparison) {
  const Cell* best = best_on_several(comparison);
  for (const Panel& panel : panels(comparison)) {
    if (std::find(panel.cells.begin(), panel.cells.end(), best) == panel.cells.end() || !has_curve(panel, &Cell::speed_up)) continue;
    Json spec = speed_up_spec(panel, all_series(comparison), {panel});
    spec["height"] = 220;
    return Chart{"glance", panel.title, spec, answer_headline(comparison)};
  }
  return std::nullopt;
}

std::vector<ChartGroup> scaling_charts(const Comparison& comparison) {
  ChartGroup efficiency = over_devices(comparison, "efficiency", &Cell::efficiency, efficiency_spec, efficiency_headline);
  efficiency.title = "Efficiency";
  efficiency.caption =
      "Samples/s divided by those of the same number of single devices. The dotted line is ideal scaling; bars are 95 % "
      "intervals of the median (up to five repeats: their range). A curve below an equal one is wider.";
  ChartGroup speed_up = over_devices(comparison, "speed-up", &Cell::speed_up, speed_up_spec, speed_up_headline);
  speed_up.title = "Speed-up";
  speed_up.caption = "Samples/s divided by those of the one-device baseline; both axes are logarithmic. Nothing is clipped.";
  std::vector<ChartGroup> all = {efficiency, speed_up, rate_over_batches(comparison)};
  std::erase_if(all, [](const ChartGroup& group) { return group.charts.empty(); });
  return all;
}

}  // namespace mgcompare
