#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/charts/chart.h"
#include "reports/findings.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

using namespace chart;

// Rows that share a panel and a count of devices: their lines are what strategies do to learning.
struct Group {
  std::string title;
  std::vector<const Cell*> cells;
};

std::vector<Group> by_devices(const Comparison& comparison) {
  std::vector<Group> groups;
  for (const Panel& panel : panels(comparison)) {
    std::vector<std::size_t> counts = panel.device_counts();
    std::reverse(counts.begin(), counts.end());
    for (const std::size_t devices : counts) {
      Group group{fmt::format("{} {} device{}, {}", devices, to_string(panel.device_kind), devices == 1 ? "" : "s",
                              panel.title),
                  {}};
      for (const Cell* cell : panel.cells)
        if (cell->trial().devices == devices) group.cells.push_back(cell);
      groups.push_back(group);
    }
  }
  return groups;
}

// A point an epoch: medians over repeats, and their least and most.
Json epochs_of(const Cell& cell) {
  Json values = Json::array();
  for (std::size_t epoch = 0;; ++epoch) {
    std::vector<double> accuracies, seconds;
    for (const Row* row : cell.done) {
      if (epoch >= row->result.epochs.size()) continue;
      accuracies.push_back(row->result.epochs[epoch].accuracy);
      double passed = 0;
      for (std::size_t k = 0; k <= epoch; ++k) passed += row->result.epochs[k].seconds_training;
      seconds.push_back(passed);
    }
    if (accuracies.empty()) return values;
    const Spread accuracy = spread_of(accuracies), passed = spread_of(seconds);
    if (accuracy.count == 0) continue;
    values.push_back({{"series", cell.series},
                      {"epoch", epoch + 1},
                      {"seconds", number(passed.median)},
                      {"accuracy", number(accuracy.median)},
                      {"low", number(accuracy.low)},
                      {"high", number(accuracy.high)},
                      {"row", title_of(cell)},
                      {"at", fmt::format("epoch {}, {}", epoch + 1, seconds_text(passed.median))},
                      {"text", with_range(accuracy, accuracy_text)}});
  }
}

Json learning_spec(const Group& group, const std::vector<Series>& series, const char* against, double target) {
  Json values = Json::array();
  std::size_t epochs = 0;
  for (const Cell* cell : group.cells) {
    const Json points = epochs_of(*cell);
    epochs = std::max(epochs, points.size());
    values.insert(values.end(), points.begin(), points.end());
  }
  const bool by_epoch = std::string_view(against) == "epoch";
  Json x = field(against, "quantitative", by_epoch ? "epoch" : "training seconds");
  x["axis"] = {{"grid", false}, {"tickCount", 6}};
  if (by_epoch) {
    Json ticks = Json::array();
    for (std::size_t epoch = 1; epoch <= epochs; epoch += (epochs + 11) / 12) ticks.push_back(epoch);
    x["axis"] = {{"grid", false}, {"values", ticks}, {"format", "d"}};
  }
  x["scale"] = {{"zero", !by_epoch}, {"nice", !by_epoch}};
  if (epochs < 2 && by_epoch) x["scale"]["domain"] = {0, 2};
  Json y = field("accuracy", "quantitative", "accuracy");
  y["scale"] = {{"zero", false}};
  y["axis"] = {{"format", ".2~%"}, {"tickCount", 6}};
  Json band = y, high = {{"field", "high"}};
  band["field"] = "low";
  Json layers = Json::array(
      {{{"mark", {{"type", "area"}, {"opacity", group.cells.size() < kCrowd ? 0.12 : 0.02}}},
        {"transform", Json::array({{{"filter", "picked === null || picked === datum.series"}}})},
        {"encoding", {{"x", x}, {"y", band}, {"y2", high}, {"color", color(series)}}}},
       {{"mark", {{"type", "line"}, {"strokeWidth", 2}}},
        {"encoding",
         {{"x", x}, {"y", y}, {"color", color(series)}, {"strokeDash", dash(series)}, {"opacity", fading()}}}},
       {{"mark", {{"type", "point"}, {"filled", true}, {"size", 45}, {"opacity", 1}}},
        {"encoding",
         {{"x", x},
          {"y", y},
          {"color", color(series)},
          {"shape", shape(series)},
          {"opacity", fading()},
          {"tooltip", tooltip({{"row", "row"}, {"at", "at"}, {"text", "accuracy"}})}}}}});
  if (target > 0) {
    layers.push_back({{"data", {{"values", Json::array({{{"accuracy", target}}})}}},
                      {"mark", {{"type", "rule"}, {"color", "currentColor"}, {"opacity", 0.4}, {"strokeDash", {2, 3}}}},
                      {"encoding", {{"y", y}}}});
  }
  return frame(270, values, layers);
}

ChartGroup learning(const Comparison& comparison, const char* against, const char* title, const char* caption) {
  ChartGroup group{title, caption, {}};
  const std::vector<Series> series = all_series(comparison);
  for (const Group& one : by_devices(comparison)) {
    if (group.charts.size() == kMostPanels) {
      ++group.left_out;
      continue;
    }
    group.charts.push_back({fmt::format("accuracy-{}-{}", against, group.charts.size()), one.title,
                            learning_spec(one, series, against, comparison.target_accuracy)});
  }
  return group;
}

// A dot and its interval for each row that reached the target, the fastest on top.
ChartGroup time_to_target_charts(const Comparison& comparison) {
  ChartGroup group{fmt::format("Time to {}", target_text(comparison.target_accuracy)),
                   "Training seconds up to the end of the first epoch that reached it; rows that did not are left out.",
                   {}};
  const std::vector<Series> series = all_series(comparison);
  for (const Panel& panel : panels(comparison)) {
    std::vector<const Cell*> reached;
    for (const Cell* cell : panel.cells)
      if (cell->reached_target > 0 && !cell->many_models) reached.push_back(cell);
    if (reached.empty()) continue;
    if (group.charts.size() == kMostPanels) {
      ++group.left_out;
      continue;
    }
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
                        {"seconds", number(time.median)},
                        {"low", number(time.low)},
                        {"high", number(time.high)},
                        {"row", title_of(*cell)},
                        {"text", with_range(time, seconds_text)},
                        {"repeats", fmt::format("{} of {}", cell->reached_target, cell->done.size())}});
    }
    Json x = field("seconds", "quantitative", "training seconds"), low = x, high = {{"field", "high"}};
    x["axis"] = {{"tickCount", 6}};
    low["field"] = "low";
    Json y = field("label", "nominal", nullptr);
    y["sort"] = order;
    y["axis"] = {{"labelLimit", kLabelWidth}, {"domain", false}, {"ticks", false}};
    const Json layers = Json::array(
        {{{"mark", {{"type", "errorbar"}, {"ticks", {{"size", 7}}}}},
          {"encoding", {{"y", y}, {"x", low}, {"x2", high}, {"color", color(series)}, {"opacity", fading()}}}},
         {{"mark", {{"type", "point"}, {"filled", true}, {"size", 75}, {"opacity", 1}}},
          {"encoding",
           {{"y", y},
            {"x", x},
            {"color", color(series)},
            {"shape", shape(series)},
            {"opacity", fading()},
            {"tooltip", tooltip({{"row", "row"}, {"text", "time"}, {"repeats", "repeats that reached it"}})}}}}});
    group.charts.push_back({fmt::format("target-{}", group.charts.size()), panel.title,
                            frame(static_cast<int>(30 + 22 * reached.size()), values, layers)});
  }
  return group;
}

// What the largest batches cost: the last accuracy against the global batch, a chart a count of devices.
ChartGroup over_batches(const Comparison& comparison) {
  ChartGroup group{"Accuracy against the global batch", "After the last epoch; medians with their 95 % intervals.", {}};
  const std::vector<Series> series = all_series(comparison);
  std::map<std::pair<DeviceKind, std::size_t>, std::vector<const Cell*>> places;
  for (const Panel& panel : panels(comparison))
    for (const Cell* cell : panel.cells) places[{panel.device_kind, cell->trial().devices}].push_back(cell);
  for (const auto& [place, cells] : places) {
    Json values = Json::array();
    std::vector<std::size_t> batches;
    for (const Cell* cell : cells) {
      batches.push_back(cell->trial().global_batch);
      values.push_back({{"series", cell->series},
                        {"batch", cell->trial().global_batch},
                        {"accuracy", number(cell->accuracy.median)},
                        {"low", number(cell->accuracy.low)},
                        {"high", number(cell->accuracy.high)},
                        {"row", title_of(*cell)},
                        {"text", with_range(cell->accuracy, accuracy_text)}});
    }
    std::sort(batches.begin(), batches.end());
    batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
    if (batches.size() < 2) continue;
    if (group.charts.size() == kMostPanels) {
      ++group.left_out;
      continue;
    }
    Json x = field("batch", "quantitative", "global batch");
    x["scale"] = {{"type", "log"}, {"base", 2}, {"nice", false}};
    x["axis"] = {{"values", batches}, {"format", "d"}, {"grid", false}};
    Json y = field("accuracy", "quantitative", "accuracy");
    y["scale"] = {{"zero", false}};
    y["axis"] = {{"format", ".2~%"}, {"tickCount", 6}};
    Json low = y, high = {{"field", "high"}};
    low["field"] = "low";
    const Json layers = Json::array(
        {{{"mark", {{"type", "line"}, {"strokeWidth", 2}}},
          {"encoding",
           {{"x", x}, {"y", y}, {"color", color(series)}, {"strokeDash", dash(series)}, {"opacity", fading()}}}},
         {{"mark", {{"type", "errorbar"}, {"ticks", {{"size", 7}}}}},
          {"encoding", {{"x", x}, {"y", low}, {"y2", high}, {"color", color(series)}, {"opacity", fading()}}}},
         {{"mark", {{"type", "point"}, {"filled", true}, {"size", 75}, {"opacity", 1}}},
          {"encoding",
           {{"x", x},
            {"y", y},
            {"color", color(series)},
            {"shape", shape(series)},
            {"opacity", fading()},
            {"tooltip", tooltip({{"row", "row"}, {"text", "accuracy"}})}}}}});
    group.charts.push_back(
        {fmt::format("accuracy-batch-{}", group.charts.size()),
         fmt::format("{} {} device{}", place.second, to_string(place.first), place.second == 1 ? "" : "s"),
         frame(250, values, layers)});
  }
  return group;
}

}  // namespace

std::vector<ChartGroup> accuracy_charts(const Comparison& comparison) {
  std::vector<ChartGroup> all = {
      learning(comparison, "seconds", "Accuracy against seconds",
               "On all evaluated samples after each epoch; training time alone. Bands are 95 % intervals of the median, "
               "the dotted line is the target."),
      learning(comparison, "epoch", "Accuracy against epochs",
               "The same by epochs: what is lost here is lost by the strategy or by its batch, not by the machine.")};
  if (comparison.target_accuracy > 0) all.push_back(time_to_target_charts(comparison));
  all.push_back(over_batches(comparison));
  std::erase_if(all, [](const ChartGroup& group) { return group.charts.empty(); });
  return all;
}

}  // namespace mgcompare
