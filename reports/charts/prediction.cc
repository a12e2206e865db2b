#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "reports/charts/chart.h"
#include "reports/prediction.h"
#include "reports/text.h"
#include "reports/work.h"

namespace mgcompare {
namespace {

using namespace chart;

Json values_of(const Prediction& prediction) {
  Json values = Json::array();
  for (const PredictedStep& step : prediction.steps) {
    values.push_back(
        {{"series", prediction.series},
         {"devices", step.devices},
         {"predicted", number(step.speed_up)},
         {"low", number(step.speed_up_low)},
         {"high", number(step.speed_up_high)},
         {"measured", step.measured ? number(*step.measured) : Json()},
         {"row", fmt::format("{}, {} devices", prediction.series, step.devices)},
         {"text", fmt::format("{:.2f} [{:.2f} .. {:.2f}]", step.speed_up, step.speed_up_low, step.speed_up_high)},
         {"seen", step.measured ? fmt::format("{:.2f}", *step.measured) : "-"},
         {"error", percent_text(prediction.hold_out_error)}});
  }
  return values;
}

Json spec_of(const std::vector<const Prediction*>& predictions, const std::vector<Series>& series) {
  Json values = Json::array(), ticks = Json::array();
  std::size_t most = 2;
  double high = 1;
  for (const Prediction* prediction : predictions) {
    const Json points = values_of(*prediction);
    values.insert(values.end(), points.begin(), points.end());
    most = std::max(most, prediction->steps.back().devices);
    for (const PredictedStep& step : prediction->steps) high = std::max(high, step.speed_up_high);
  }
  for (std::size_t tick = 1; tick <= most; tick *= 2) ticks.push_back(tick);
  Json x = field("devices", "quantitative", "devices");
  x["scale"] = {{"type", "log"}, {"base", 2}, {"nice", false}, {"domain", {0.95, static_cast<double>(most) * 1.05}}};
  x["axis"] = {{"values", ticks}, {"format", "d"}, {"grid", false}};
  Json y = field("predicted", "quantitative", "speed-up");
  y["scale"] = {{"zero", true}};
  y["axis"] = {{"tickCount", 6}, {"format", "~g"}};
  Json low = y, upper = {{"field", "high"}}, measured = y;
  low["field"] = "low", measured["field"] = "measured";
  const Json tips = tooltip(
      {{"row", "row"}, {"text", "predicted speed-up"}, {"seen", "measured"}, {"error", "error on the held-out row"}});
  const Json layers = Json::array(
      {{{"mark", {{"type", "area"}, {"opacity", 0.13}}},
        {"transform", Json::array({{{"filter", "picked === null || picked === datum.series"}}})},
        {"encoding", {{"x", x}, {"y", low}, {"y2", upper}, {"color", color(series)}}}},
       {{"mark", {{"type", "line"}, {"strokeWidth", 1.8}, {"strokeDash", {6, 4}}}},
        {"encoding", {{"x", x}, {"y", y}, {"color", color(series)}, {"opacity", fading()}}}},
       {{"mark", {{"type", "point"}, {"filled", false}, {"size", 45}, {"opacity", 1}}},
        {"encoding", {{"x", x}, {"y", y}, {"color", color(series)}, {"opacity", fading()}, {"tooltip", tips}}}},
       {{"mark", {{"type", "point"}, {"filled", true}, {"size", 75}, {"opacity", 1}}},
        {"transform", Json::array({{{"filter", "isValid(datum.measured)"}}})},
        {"encoding",
         {{"x", x},
          {"y", measured},
          {"color", color(series)},
          {"shape", shape(series)},
          {"opacity", fading()},
          {"tooltip", tips}}}}});
  return frame(280, values, layers);
}

}  // namespace

std::vector<ChartGroup> prediction_charts(const Comparison& comparison, const std::vector<Prediction>& predictions) {
  ChartGroup group{"Beyond this machine",
                   "Dashed: predicted, with its band. Filled: measured. Rows whose held-out error is over 15 % end where "
                   "the machine ends.",
                   {}};
  std::map<std::tuple<std::string, DeviceKind, double>, std::vector<const Prediction*>> places;
  for (const Prediction& prediction : predictions) {
    if (prediction.steps.size() < 2) continue;
    const TrialKey& trial = prediction.largest->trial();
    const double batch =
        trial.scaling == "weak" ? samples_per_device(*prediction.largest) : static_cast<double>(trial.global_batch);
    places[{trial.scaling, trial.device_kind, batch}].push_back(&prediction);
  }
  for (const auto& [place, members] : places) {
    if (group.charts.size() == kMostPanels) {
      ++group.left_out;
      continue;
    }
    const auto& [scaling, kind, batch] = place;
    group.charts.push_back({fmt::format("prediction-{}", group.charts.size()),
                            fmt::format("{} {:.0f}, {} scaling, on {}", scaling == "weak" ? "batch per device" : "global batch",
                                        batch, plain(scaling), to_string(kind)),
                            spec_of(members, all_series(comparison))});
  }
  if (group.charts.empty()) return {};
  return {group};
}

}  // namespace mgcompare
