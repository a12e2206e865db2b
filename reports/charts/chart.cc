#include "reports/charts/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mgcompare {

Json chart_config() {
  return {{"background", nullptr},
          {"font", "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"},
          {"view", {{"stroke", nullptr}}},
          {"axis",
           {{"labelColor", "currentColor"},
            {"titleColor", "currentColor"},
            {"tickColor", "currentColor"},
            {"tickOpacity", 0.35},
            {"domainColor", "currentColor"},
            {"domainOpacity", 0.35},
            {"gridColor", "currentColor"},
            {"gridOpacity", 0.1},
            {"labelFontSize", 12},
            {"titleFontSize", 12},
            {"titleFontWeight", 500},
            {"titlePadding", 10}}},
          {"legend", {{"labelColor", "currentColor"}, {"titleColor", "currentColor"}, {"labelFontSize", 12}}},
          {"header", {{"labelColor", "currentColor"}}},
          // Screen readers read only points and bars, whose descriptions include the rest.
          {"line", {{"aria", false}}},
          {"area", {{"aria", false}}},
          {"rule", {{"aria", false}}},
          {"tick", {{"aria", false}}},
          {"text", {{"color", "currentColor"}, {"aria", false}}}};
}

void ChartGroup::add(const char* id, const std::string& panel, const std::function<Json()>& spec) {
  if (charts.size() == chart::kMaxPanels) {
    ++left_out;
    return;
  }
  charts.push_back({fmt::format("{}-{}", id, charts.size()), panel, spec()});
}

namespace chart {

std::string scales_text(const ChartGroup& group) {
  return group.charts.size() > 1 ? " Each panel has its own scales." : "";
}

std::string crowd_text(const std::vector<Series>& series) {
  const bool has_crowd = std::any_of(series.begin(), series.end(), [](const Series& one) { return !one.leads; });
  return has_crowd ? " Rows of the grey strategies are in the table; they appear here when all are shown in colour." : "";
}

std::pair<double, double> extent_of(const std::vector<Panel>& panels, Spread Cell::* figure) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const Panel& panel : panels) {
    for (const Cell* cell : panel.cells) {
      const Spread& spread = cell->*figure;
      if (spread.count == 0) continue;
      least = std::min(least, spread.low);
      most = std::max(most, spread.high);
    }
  }
  return {least, most};
}

static std::set<std::string> leaders_of(const std::vector<Series>& series) {
  std::set<std::string> leaders;
  for (const Series& one : series)
    if (one.leads) leaders.insert(one.name);
  return leaders;
}

constexpr char kInFront[] = "indexof(leaders, datum.series) >= 0 || hovered === datum.series || picked === datum.series";

Json frame(int height, Json values, Json layers, const std::vector<Series>& series) {
  const std::set<std::string> leaders = leaders_of(series);
  // Later values are drawn on top.
  if (leaders.size() < series.size())
    std::stable_partition(values.begin(), values.end(), [&](const Json& value) {
      return !leaders.contains(value["series"].get_ref<const std::string&>());
    });
  return {{"width", "container"},
          {"height", height},
          {"autosize", {{"type", "fit-x"}, {"contains", "padding"}}},
          {"data", {{"values", std::move(values)}}},
          {"params", Json::array({{{"name", "picked"}, {"value", nullptr}},
                                  {{"name", "hovered"}, {"value", nullptr}},
                                  {{"name", "leaders"}, {"value", leaders}}})},
          {"layer", std::move(layers)}};
}

Json row_frame(int pixels, Json values, Json layers, const std::vector<Series>& series) {
  const std::set<std::string> leaders = leaders_of(series);
  std::set<std::string> rows;
  for (const Json& value : values)
    if (leaders.contains(value["series"].get_ref<const std::string&>())) rows.insert(value["label"]);
  const int shown = std::max(1, static_cast<int>(rows.size()));
  Json spec = frame(pixels * shown, std::move(values), std::move(layers), series);
  spec["transform"] = Json::array({{{"filter", kInFront}}});
  spec["usermeta"] = {{"row", pixels}};
  return spec;
}

Json field(const char* name, const char* type, const char* title) {
  return {{"field", name}, {"type", type}, {"title", title == nullptr ? Json() : Json(title)}};
}

static Json by_series(const std::vector<Series>& series, Json (*look)(const Series&)) {
  Json domain = Json::array(), range = Json::array();
  for (const Series& one : series) domain.push_back(one.name), range.push_back(look(one));
  return {{"field", "series"},
          {"type", "nominal"},
          {"scale", {{"domain", domain}, {"range", range}}},
          {"legend", nullptr}};
}

Json color(const std::vector<Series>& series) {
  Json own = by_series(series, [](const Series& one) { return Json(one.color); });
  own["test"] = kInFront;
  return {{"condition", own}, {"value", kGrey}};
}
Json shape(const std::vector<Series>& series) {
  return by_series(series, [](const Series& one) { return Json(one.shape); });
}
Json dash(const std::vector<Series>& series) {
  Json own = by_series(series, [](const Series& one) { return one.dashed ? Json{5, 4} : Json{1, 0}; });
  own["test"] = kInFront;
  return {{"condition", own}, {"value", {1, 0}}};
}

Json fading(double crowd) {
  return {{"condition",
           {{{"test", "picked === datum.series || hovered === datum.series"}, {"value", 1}},
            {{"test", "picked !== null"}, {"value", 0.07}},
            {{"test", "indexof(leaders, datum.series) < 0"}, {"value", crowd}}}},
          {"value", 1}};
}


Json tooltip(const std::vector<std::pair<const char*, const char*>>& fields) {
  Json all = Json::array();
  for (const auto& [name, title] : fields) all.push_back({{"field", name}, {"type", "nominal"}, {"title", title}});
  return all;
}

Json doubling(const char* name, const char* title, const std::set<std::size_t>& counts) {
  Json axis = field(name, "quantitative", title);
  axis["scale"] = {{"type", "log"}, {"base", 2}, {"nice", false}};
  // Margins, so that points at the ends do not touch the other axis.
  if (!counts.empty())
    axis["scale"]["domain"] = {static_cast<double>(*counts.begin()) * 0.9, static_cast<double>(*counts.rbegin()) * 1.12};
  axis["axis"] = {{"values", counts}, {"format", "d"}, {"grid", false}};
  return axis;
}

double dodged(std::size_t x, const std::string& name, const std::vector<Series>& series) {
  const auto found = std::find_if(series.begin(), series.end(), [&](const Series& one) { return one.name == name; });
  const double place = series.size() < 2 ? 0 : static_cast<double>(found - series.begin()) / static_cast<double>(series.size() - 1) - 0.5;
  return static_cast<double>(x) * std::exp2(0.12 * place);
}

Json rows(const char* name, const Json& order) {
  Json axis = field(name, "nominal", nullptr);
  axis["sort"] = order;
  axis["axis"] = {{"labelLimit", kLabelWidth}, {"domain", false}, {"ticks", false}};
  return axis;
}

Json lines(const std::vector<Series>& series, const Json& x, const Json& y) {
  return {{"mark", {{"type", "line"}, {"strokeWidth", 2}}},
          {"encoding",
           {{"x", x},
            {"y", y},
            {"color", color(series)},
            {"strokeDash", dash(series)},
            {"opacity", fading()},
            {"tooltip", tooltip({{"series", "strategy"}})}}}};
}

Json points(const std::vector<Series>& series, const Json& x, const Json& y, const Json& tips, int size) {
  return {{"mark", {{"type", "point"}, {"filled", true}, {"opacity", 1}}},
          {"encoding",
           {{"x", x},
            {"y", y},
            {"color", color(series)},
            {"shape", shape(series)},
            {"size", {{"condition", {{"test", kInFront}, {"value", size}}}, {"value", size / 2}}},
            {"opacity", fading()},
            {"tooltip", tips}}}};
}

// Encodings of a mark from "low" to "high".
static Json reaching(const std::vector<Series>& series, const Json& x, const Json& y, const std::string& along) {
  Json encoding = {{"x", x}, {"y", y}};
  encoding[along]["field"] = "low";
  encoding[along + "2"] = {{"field", "high"}};
  encoding["color"] = color(series);
  return encoding;
}

Json intervals(const std::vector<Series>& series, const Json& x, const Json& y, const char* along) {
  Json encoding = reaching(series, x, y, along);
  encoding["opacity"] = fading(0);
  return {{"mark", {{"type", "errorbar"}, {"ticks", {{"size", 7}}}}}, {"encoding", encoding}};
}

Json bands(const std::vector<Series>& series, const Json& x, const Json& y, double opacity) {
  return {{"mark", {{"type", "area"}, {"opacity", opacity}}},
          {"transform",
           Json::array({{{"filter", "picked === null ? indexof(leaders, datum.series) >= 0 && !datum.again : picked === datum.series"}}})},
          {"encoding", reaching(series, x, y, "y")}};
}

}  // namespace chart
}  // namespace mgcompare
