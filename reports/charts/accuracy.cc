#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/median.h"
#include "base/number_text.h"
#include "reports/charts/chart.h"
#include "reports/charts/headline.h"
#include "reports/findings.h"
#include "reports/text.h"
#include "results/target_crossing.h"

namespace mgcompare {
namespace {

using namespace chart;

// The rows of one panel with the same number of devices.
struct Group {
  std::string title;
  std::vector<const Cell*> cells;
};

std::vector<Group> by_devices(const Comparison& comparison) {
  std::vector<Group> groups;
  for (const Panel& panel : panels(comparison)) {
    const std::set<std::size_t> counts = panel.device_counts();
    for (auto devices = counts.rbegin(); devices != counts.rend(); ++devices) {
      Group group{fmt::format("{}, {}", devices_text(*devices, panel.device_kind), panel.title), {}};
      for (const Cell* cell : panel.cells)
        if (cell->trial().devices == *devices) group.cells.push_back(cell);
      groups.push_back(group);
    }
  }
  return groups;
}

constexpr std::size_t kMostPoints = 600;  // of a curve: a page shows no more, and would grow with them

using Repeats = std::vector<std::vector<EvaluatedPoint>>;

// The accuracies of one evaluation that are numbers.
std::vector<double> accuracies_at(const Repeats& repeats, std::size_t evaluation) {
  std::vector<double> all;
  for (const std::vector<EvaluatedPoint>& points : repeats)
    if (evaluation < points.size() && std::isfinite(points[evaluation].accuracy)) all.push_back(points[evaluation].accuracy);
  return all;
}

// The numbers of the evaluations that a curve has: all, or of very many the first, the last, and those of the least and the greatest median of
// each of so many equal parts that a page can show them.
std::set<std::size_t> drawn_evaluations(const Repeats& repeats) {
  std::vector<std::pair<double, std::size_t>> medians;  // and their evaluations
  std::size_t most = 0;
  for (const std::vector<EvaluatedPoint>& points : repeats) most = std::max(most, points.size());
  for (std::size_t k = 0; k < most; ++k)
    if (const std::vector<double> accuracies = accuracies_at(repeats, k); !accuracies.empty()) medians.emplace_back(median(accuracies), k);
  std::set<std::size_t> drawn;
  const std::size_t parts = medians.size() <= kMostPoints ? medians.size() : kMostPoints / 2;
  for (std::size_t part = 0; part < parts; ++part) {
    const auto begin = medians.begin() + static_cast<std::ptrdiff_t>(part * medians.size() / parts);
    const auto end = medians.begin() + static_cast<std::ptrdiff_t>((part + 1) * medians.size() / parts);
    const auto [least, greatest] = std::minmax_element(begin, end);
    drawn.insert({least->second, greatest->second});
  }
  if (!medians.empty()) drawn.insert({medians.front().second, medians.back().second});
  return drawn;
}

// "3", "12,345", "0.25".
std::string epoch_text(double epoch) { return epoch == std::floor(epoch) ? thousands(epoch) : fmt::format("{:.10g}", std::round(epoch * 1e3) / 1e3); }

// One point per evaluation that is drawn: median over repeats, and its interval.
Json evaluations_of(const Cell& cell) {
  Repeats repeats;
  for (const Row* row : cell.done) repeats.push_back(evaluated_points(row->result.epochs));
  Json values = Json::array();
  for (const std::size_t k : drawn_evaluations(repeats)) {
    std::vector<double> seconds;
    double epoch = 0;
    for (const std::vector<EvaluatedPoint>& points : repeats) {
      if (k >= points.size()) continue;
      seconds.push_back(points[k].seconds);
      epoch = points[k].epochs;
    }
    const Spread accuracy = spread_of(accuracies_at(repeats, k)), passed = spread_of(seconds);
    values.push_back({{"series", cell.series},
                      {"epoch", epoch},
                      {"seconds", json_number(passed.median)},
                      {"accuracy", json_number(accuracy.median)},
                      {"low", json_number(accuracy.low)},
                      {"high", json_number(accuracy.high)},
                      {"row", title_of(cell)},
                      {"at", fmt::format("epoch {}, {}", epoch_text(epoch), seconds_text(passed.median))},
                      {"text", with_range(accuracy, accuracy_text)}});
  }
  return values;
}

Json accuracy_axis() {
  Json y = field("accuracy", "quantitative", "accuracy");
  y["scale"] = {{"zero", false}};
  y["axis"] = {{"format", ".2~%"}, {"tickCount", 6}};
  return y;
}

// Whole epochs: each, or the multiples of 2, 5, 10, 20 and so on, of which an axis has room for twelve, or for six of many digits; beside multiples
// of 5 and more also the first.
Json epoch_ticks(double epochs) {
  const auto most = static_cast<std::size_t>(std::ceil(epochs));
  const std::size_t room = most < 10'000 ? 12 : 6;
  std::size_t step = 1;
  for (std::size_t k = 0; step * room < most; ++k) step = step * (k % 3 == 1 ? 5 : 4) / 2;
  Json ticks = Json::array();
  if (step > 2) ticks.push_back(1);
  for (std::size_t epoch = step; epoch <= most; epoch += step) ticks.push_back(epoch);
  return ticks;
}

}  // namespace

Json chart::learning_spec(const std::vector<const Cell*>& rows, const std::vector<Series>& series, const char* against, double target) {
  constexpr double kBesideEqual = 0.04;  // of an epoch
  const bool by_epoch = std::string_view(against) == "epoch";
  Json values = Json::array();
  double epochs = 0;
  // Strategies with equal results share one band: that of the first one, leaders first.
  std::vector<const Cell*> cells = rows;
  std::stable_partition(cells.begin(), cells.end(), [&](const Cell* cell) {
    return std::any_of(series.begin(), series.end(), [&](const Series& one) { return one.leads && one.name == cell->series; });
  });
  std::map<std::string, std::size_t> drawn;  // bands, and how many rows have them
  std::vector<double> shifts;                // of each value
  for (const Cell* cell : cells) {
    Json points = evaluations_of(*cell), band = Json::array();
    for (const Json& point : points) band.push_back({point[against], point["low"], point["high"]});
    if (!points.empty()) epochs = std::max(epochs, points.back()["epoch"].get<double>());
    const std::size_t before = drawn[band.dump()]++;
    for (Json& point : points) point["again"] = before > 0;
    shifts.resize(shifts.size() + points.size(), kBesideEqual * static_cast<double>(before));
    values.insert(values.end(), points.begin(), points.end());
  }
  Json x = field(against, "quantitative", by_epoch ? "epoch" : "training seconds");
  x["axis"] = {{"grid", false}, {"tickCount", 6}};
  if (by_epoch) {
    x["axis"] = {{"grid", false}, {"values", epoch_ticks(epochs)}, {"format", "d"}};
  }
  x["scale"] = {{"zero", !by_epoch}, {"nice", !by_epoch}};
  if (epochs < 2 && by_epoch) x["scale"]["domain"] = {0, 2};
  const Json y = accuracy_axis(), tips = tooltip({{"row", "row"}, {"at", "at"}, {"text", "accuracy"}});
  widen_covered(values, x, y, series);
  // Points to the right of those that would hide them.
  if (by_epoch)
    for (std::size_t k = 0; k < values.size(); ++k) values[k][against] = values[k][against].get<double>() + shifts[k];
  // The combined opacity of the bands of all rows stays below 30 %.
  const double opacity = std::min(0.12, 1 - std::pow(0.7, 1.0 / static_cast<double>(rows.size())));
  Json layers = Json::array({bands(series, x, y, opacity), lines(series, x, y),
                             points(series, x, y, tips, 45)});
  if (target > 0) {
    layers.push_back({{"data", {{"values", Json::array({{{"accuracy", target}}})}}},
                      {"mark", {{"type", "rule"}, {"color", "currentColor"}, {"opacity", 0.6}, {"strokeDash", {2, 3}}}},
                      {"encoding", {{"y", y}}}});
  }
  return frame(270, values, layers, series);
}

std::string chart::thinning_text(const Comparison& comparison) {
  for (const Cell& cell : comparison.cells)
    for (const Row* row : cell.done)
      if (evaluated_points(row->result.epochs).size() > kMostPoints)
        return fmt::format(" Curves of more than {} evaluations show the least and the greatest median of each of {} equal parts.", kMostPoints, kMostPoints / 2);
  return "";
}

namespace {

ChartGroup learning(const Comparison& comparison, const char* against, const char* title, const char* caption) {
  ChartGroup group{title, caption, {}};
  const std::vector<Series> series = all_series(comparison);
  const std::string id = fmt::format("accuracy-{}", against);
  for (const Group& one : by_devices(comparison))
    group.add(id.c_str(), one.title, [&] { return learning_spec(one.cells, series, against, comparison.target_accuracy); });
  group.caption += scales_text(group) + thinning_text(comparison);
  return group;
}

// A point and its interval for each row, the fastest on top.
Json target_spec(std::vector<const Cell*> reached, const std::vector<Series>& series, double most) {
  std::sort(reached.begin(), reached.end(), [](const Cell* a, const Cell* b) {
    return a->seconds_to_target.median < b->seconds_to_target.median;
  });
  Json values = Json::array(), order = Json::array();
  for (const Cell* cell : reached) {
    const std::string label = fmt::format("{} \u00d7 {}", cell->series, cell->trial().devices);
    order.push_back(label);
    const Spread& time = cell->seconds_to_target;
    values.push_back({{"series", cell->series},
                      {"label", label},
                      {"seconds", json_number(time.median)},
                      {"low", json_number(time.low)},
                      {"high", json_number(time.high)},
                      {"row", title_of(*cell)},
                      {"text", with_range(time, seconds_text)},
                      {"repeats", fmt::format("{} of {}", cell->reached_target, cell->done.size())}});
  }
  Json x = field("seconds", "quantitative", "training seconds");
  x["axis"] = {{"tickCount", 6}};
  x["scale"] = {{"domain", {0, most}}, {"nice", true}};
  const Json y = rows("label", order);
  const Json tips = tooltip({{"row", "row"}, {"text", "time"}, {"repeats", "repeats that reached it"}});
  return row_frame(22, values, Json::array({intervals(series, x, y, "x"), points(series, x, y, tips)}), series);
}

ChartGroup time_to_target_charts(const Comparison& comparison) {
  ChartGroup group{fmt::format("Time to {}", target_text(comparison.target_accuracy)),
                   "Training seconds, interpolated between the last evaluation below it and the first that reached it; rows that did not reach it are left out.",
                   {}};
  group.headline = target_headline(comparison);
  const std::vector<Series> series = all_series(comparison);
  const std::vector<Panel> every = panels(comparison);
  for (const Panel& panel : every) {
    std::vector<const Cell*> reached;
    for (const Cell* cell : panel.cells)
      if (cell->reached_target > 0 && !cell->many_models) reached.push_back(cell);
    if (!reached.empty()) group.add("target", panel.title, [&] {
      return target_spec(reached, series, extent_of(every, &Cell::seconds_to_target).second);
    });
  }
  group.caption += crowd_text(series);
  return group;
}

// Final accuracy against the global batch, one chart for each number of devices.
ChartGroup accuracy_over_batches(const Comparison& comparison) {
  ChartGroup group{"Accuracy against the global batch", "After the last epoch; medians with 95 % intervals (up to five repeats: their range).", {}};
  group.headline = batch_headline(comparison);
  const std::vector<Series> series = all_series(comparison);
  std::map<std::pair<DeviceKind, std::size_t>, std::vector<const Cell*>> places;
  const std::vector<Panel> every = panels(comparison);
  const auto [least, most] = extent_of(every, &Cell::accuracy);
  for (const Panel& panel : every)
    for (const Cell* cell : panel.cells) places[{panel.device_kind, cell->trial().devices}].push_back(cell);
  for (const auto& [place, cells] : places) {
    std::set<std::size_t> batches;
    for (const Cell* cell : cells) batches.insert(cell->trial().global_batch);
    if (batches.size() < 2) continue;
    group.add("accuracy-batch", devices_text(place.second, place.first), [&, &cells = cells, least = least, most = most] {
      Json values = Json::array();
      for (const Cell* cell : cells)
        values.push_back({{"series", cell->series},
                          {"batch", cell->trial().global_batch},
                          {"accuracy", json_number(cell->accuracy.median)},
                          {"low", json_number(cell->accuracy.low)},
                          {"high", json_number(cell->accuracy.high)},
                          {"row", title_of(*cell)},
                          {"text", with_range(cell->accuracy, accuracy_text)}});
      const Json x = doubling("batch", "global batch", batches);
      Json y = accuracy_axis();
      y["scale"] = {{"domain", {json_number(least), json_number(most)}}, {"nice", true}};
      const Json tips = tooltip({{"row", "row"}, {"text", "accuracy"}});
      set_apart(values, x, y, series);
      return frame(250, values, Json::array({lines(series, x, y), intervals(series, x, y, "y"), points(series, x, y, tips)}),
                   series);
    });
  }
  return group;
}

}  // namespace

std::vector<ChartGroup> accuracy_charts(const Comparison& comparison) {
  std::vector<ChartGroup> all = {
      learning(comparison, "seconds", "Accuracy against seconds",
               "On all evaluated samples; training time only. Bands are 95 % intervals of the median "
               "(up to five repeats: their range), the dotted line is the target."),
      learning(comparison, "epoch", "Accuracy against epochs",
               "The same by epochs: differences here are due to the strategy or its batch, not to the machine. Curves of strategies with "
               "equal results lie side by side.")};
  all.back().headline = accuracy_headline(comparison);
  all.front().headline = most_accurate_headline(comparison);
  if (comparison.target_accuracy > 0) all.push_back(time_to_target_charts(comparison));
  all.push_back(accuracy_over_batches(comparison));
  std::erase_if(all, [](const ChartGroup& group) { return group.charts.empty(); });
  return all;
}

}  // namespace mgcompare
