#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/charts/chart.h"
#include "reports/findings.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

using namespace chart;

// More columns are not readable on a phone.
constexpr std::size_t kMaxColumns = 16;
constexpr std::size_t kLargestCounted = 255;  // the last count of a metric includes larger values

using Counts = std::vector<std::uint64_t>;

// Sums over all ranks and repeats of a row, by metric.
std::map<std::string, Counts> histograms_of(const Cell& cell) {
  std::map<std::string, Counts> all;
  for (const Row* row : cell.done) {
    for (const auto& metrics : row->result.metrics) {
      for (const auto& [name, metric] : metrics) {
        if (metric.counts.empty()) continue;
        Counts& sum = all[name];
        sum.resize(std::max(sum.size(), metric.counts.size()));
        for (std::size_t value = 0; value < metric.counts.size(); ++value) sum[value] += metric.counts[value];
      }
    }
  }
  return all;
}

std::size_t largest_of(const Counts& counts) {
  std::size_t largest = 0;
  for (std::size_t value = 0; value < counts.size(); ++value)
    if (counts[value] > 0) largest = value;
  return largest;
}

struct HistogramLine {
  const Cell* cell;
  Counts counts;
};

// A heat map with one line per row and one column per value, which is readable for more rows than bars.
Json spec_of(const std::string& name, const std::vector<HistogramLine>& lines, const std::vector<Series>& series) {
  std::size_t largest = 0;
  for (const HistogramLine& line : lines) largest = std::max(largest, largest_of(line.counts));
  const std::size_t width = largest / kMaxColumns + 1;  // values a column
  Json values = Json::array(), order = Json::array(), columns = Json::array();
  const auto column_of = [&](std::size_t first) {
    const std::string end = first + width > kLargestCounted ? "+" : width > 1 ? fmt::format("\u2013{}", first + width - 1) : "";
    return fmt::format("{}{}", first, end);
  };
  for (std::size_t first = 0; first <= largest; first += width) columns.push_back(column_of(first));
  for (const HistogramLine& line : lines) {
    const std::string label = fmt::format("{} \u00d7 {}", line.cell->series, line.cell->trial().devices);
    order.push_back(label);
    double all = 0;
    for (const std::uint64_t count : line.counts) all += static_cast<double>(count);
    for (std::size_t first = 0; first <= largest && first < line.counts.size(); first += width) {
      double count = 0;
      for (std::size_t value = first; value < std::min(first + width, line.counts.size()); ++value)
        count += static_cast<double>(line.counts[value]);
      if (count == 0) continue;
      values.push_back({{"series", line.cell->series},
                        {"label", label},
                        {"value", column_of(first)},
                        {"share", json_number(count / all)},
                        {"percent", count / all < 0.005 ? "" : fmt::format("{:.0f}", 100 * count / all)},
                        {"row", title_of(*line.cell)},
                        {"text", fmt::format("{} of {} ({})", count_text(count), count_text(all), percent_text(count / all))}});
    }
  }
  Json x = field("value", "ordinal", nullptr);
  x["title"] = plain(name);
  x["scale"] = {{"domain", columns}};
  x["axis"] = {{"labelAngle", 0}, {"domain", false}, {"ticks", false}, {"labelOverlap", "greedy"}};
  const Json y = rows("label", order);
  Json dark = field("share", "quantitative", nullptr);
  dark["scale"] = {{"domain", {0, 1}}, {"range", {0.12, 1}}};
  dark["legend"] = nullptr;
  Json text = field("percent", "nominal", nullptr);
  const Json layers = Json::array(
      {{{"mark", {{"type", "rect"}, {"color", "#0072B2"}, {"cornerRadius", 2}}},
        {"transform", Json::array({{{"filter", "picked === null || picked === datum.series"}}})},
        {"encoding",
         {{"x", x},
          {"y", y},
          {"fillOpacity", dark},
          {"tooltip", tooltip({{"row", "row"}, {"value", "value"}, {"text", "occurred"}})}}}},
       {{"mark", {{"type", "text"}, {"fontSize", 11}}},
        {"encoding",
         {{"x", x},
          {"y", y},
          {"text", text},
          {"color", {{"condition", {{"test", "datum.share > 0.45"}, {"value", "#ffffff"}}}, {"value", "currentColor"}}},
          {"opacity", fading(1)}}}}});
  return frame(static_cast<int>(20 + 24 * lines.size()), values, layers, series);
}

}  // namespace

std::vector<ChartGroup> histogram_charts(const Comparison& comparison) {
  const std::vector<Series> series = all_series(comparison);
  std::map<std::string, ChartGroup> groups;
  for (const Panel& panel : panels(comparison)) {
    std::map<std::string, std::vector<HistogramLine>> by_name;
    for (const Cell* cell : panel.cells)
      for (auto& [name, counts] : histograms_of(*cell)) by_name[name].push_back({cell, std::move(counts)});
    for (const auto& [name, lines] : by_name) {
      ChartGroup& group = groups[name];
      group.title = fmt::format("How often each {} occurred", plain(name));
      group.caption = "Per cent of all values that the ranks of a row recorded in all repeats; values below 0.5 are not labelled.";
      group.by_series = false;
      group.add("histogram", panel.title, [&, &name = name, &lines = lines] { return spec_of(name, lines, series); });
    }
  }
  std::vector<ChartGroup> all;
  std::size_t number = 0;
  for (auto& [name, group] : groups) {
    for (Chart& chart : group.charts) chart.id = fmt::format("histogram-{}", number++);
    all.push_back(std::move(group));
  }
  return all;
}

}  // namespace mgcompare
