#include "reports/charts/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

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

void ChartGroup::add(const char* id, const std::string& panel, const std::function<Json()>& spec, const std::string& headline) {
  if (charts.size() == chart::kMaxPanels) {
    ++left_out;
    return;
  }
  charts.push_back({fmt::format("{}-{}", id, charts.size()), panel, spec(), headline});
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

Json rows(const char* name, const Json& order) {
  Json axis = field(name, "nominal", nullptr);
  axis["sort"] = order;
  axis["axis"] = {{"labelLimit", kLabelWidth}, {"domain", false}, {"ticks", false}};
  return axis;
}

namespace {

constexpr double kLine = 2, kRail = 3;  // the width of a line, and what each line on top of it adds

struct Point {
  double x, y;
};
using Curve = std::vector<Point>;

double distance_to_segment(const Point& point, const Point& from, const Point& to) {
  const double dx = to.x - from.x, dy = to.y - from.y, length = dx * dx + dy * dy;
  const double along = length > 0 ? std::clamp(((point.x - from.x) * dx + (point.y - from.y) * dy) / length, 0.0, 1.0) : 0;
  return std::hypot(point.x - from.x - along * dx, point.y - from.y - along * dy);
}

bool covers(const Curve& upper, const Curve& lower) {
  constexpr double kHidden = 3;  // pixels
  return lower.size() > 1 && upper.size() > 1 && std::all_of(lower.begin(), lower.end(), [&](const Point& point) {
           for (std::size_t k = 1; k < upper.size(); ++k)
             if (distance_to_segment(point, upper[k - 1], upper[k]) < kHidden) return true;
           return false;
         });
}

// The place of a value on an axis as long as that of a usual chart, in pixels.
double pixels(const Json& value, const Json& axis, double least, double most, double length) {
  const bool is_log = axis.contains("scale") && axis["scale"].value("type", "") == "log";
  const auto place = [&](double one) { return is_log ? std::log(std::max(one, 1e-12)) : one; };
  const double range = place(most) - place(least);
  return range > 0 ? (place(value.get<double>()) - place(least)) / range * length : 0;
}

// The ends of an axis: its domain, or that of the values.
std::pair<double, double> ends_of(const Json& values, const Json& axis) {
  if (axis.contains("scale") && axis["scale"].contains("domain")) return {axis["scale"]["domain"][0], axis["scale"]["domain"][1]};
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const Json& value : values) {
    const Json& one = value[axis["field"].get_ref<const std::string&>()];
    if (!one.is_number()) continue;
    least = std::min(least, one.get<double>());
    most = std::max(most, one.get<double>());
  }
  return {least, most};
}

}  // namespace

void widen_covered(Json& values, const Json& x, const Json& y, const std::vector<Series>& series) {
  const std::set<std::string> leaders = leaders_of(series);
  const auto [left, right] = ends_of(values, x);
  const auto [bottom, top] = ends_of(values, y);
  std::vector<std::pair<std::string, Curve>> curves;  // in the order in which they are drawn
  for (const Json& value : values) {
    const std::string& name = value["series"].get_ref<const std::string&>();
    const Json &across = value[x["field"].get_ref<const std::string&>()], &up = value[y["field"].get_ref<const std::string&>()];
    if (!leaders.contains(name) || !across.is_number() || !up.is_number()) continue;
    auto curve = std::find_if(curves.begin(), curves.end(), [&](const auto& one) { return one.first == name; });
    if (curve == curves.end()) curve = curves.insert(curves.end(), {name, {}});
    curve->second.push_back({pixels(across, x, left, right, 440), pixels(up, y, bottom, top, 230)});
  }
  std::map<std::string, double> widths;
  for (std::size_t lower = 0; lower < curves.size(); ++lower)
    for (std::size_t upper = lower + 1; upper < curves.size(); ++upper)
      if (covers(curves[upper].second, curves[lower].second)) widths.try_emplace(curves[lower].first, kLine).first->second += kRail;
  for (Json& value : values)
    if (const auto width = widths.find(value["series"]); width != widths.end()) value["width"] = width->second;
}

void set_apart(Json& values, const Json& x, const Json& y, const std::vector<Series>& series) {
  constexpr double kOctaves = 0.12;  // from the first series to the last
  widen_covered(values, x, y, series);
  if (series.size() < 2) return;
  std::map<std::string, double> factors;
  for (std::size_t k = 0; k < series.size(); ++k)
    factors[series[k].name] = std::exp2(kOctaves * (static_cast<double>(k) / static_cast<double>(series.size() - 1) - 0.5));
  for (Json& value : values) {
    Json& place = value[x["field"].get_ref<const std::string&>()];
    place = place.get<double>() * factors.at(value["series"]);
  }
}

Json lines(const std::vector<Series>& series, const Json& x, const Json& y) {
  const Json width = {{"test", "isValid(datum.width)"}, {"field", "width"}, {"type", "quantitative"}, {"scale", nullptr}, {"legend", nullptr}};
  return {{"mark", {{"type", "line"}}},
          {"encoding",
           {{"x", x},
            {"y", y},
            {"color", color(series)},
            {"strokeDash", dash(series)},
            {"strokeWidth", {{"condition", width}, {"value", kLine}}},
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
