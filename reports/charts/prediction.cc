#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "plan/listed_batch.h"
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
         {"predicted", json_number(step.speed_up)},
         {"low", json_number(step.speed_up_low)},
         {"high", json_number(step.speed_up_high)},
         {"measured", step.measured ? json_number(*step.measured) : Json()},
         {"row", fmt::format("{}, {} devices", prediction.series, step.devices)},
         {"text", fmt::format("{:.2f} [{:.2f} .. {:.2f}]", step.speed_up, step.speed_up_low, step.speed_up_high)},
         {"seen", step.measured ? fmt::format("{:.2f}", *step.measured) : "-"},
         {"error", prediction.hold_out_error ? percent_text(*prediction.hold_out_error) : "-"}});
  }
  return values;
}

Json spec_of(const std::vector<const Prediction*>& predictions, const std::vector<Series>& series) {
  Json values = Json::array();
  std::set<std::size_t> ticks;
  std::size_t most = 2;
  for (const Prediction* prediction : predictions) {
    const Json steps = values_of(*prediction);
    values.insert(values.end(), steps.begin(), steps.end());
    most = std::max(most, prediction->steps.back().devices);
  }
  for (std::size_t tick = 1; tick <= most; tick *= 2) ticks.insert(tick);
  Json x = doubling("devices", "devices", ticks);
  x["scale"]["domain"] = {0.95, static_cast<double>(most) * 1.05};
  Json y = field("predicted", "quantitative", "speed-up");
  y["scale"] = {{"zero", true}};
  y["axis"] = {{"tickCount", 6}, {"format", "~g"}};
  Json measured = y;
  measured["field"] = "measured";
  const Json tips = tooltip(
      {{"row", "row"}, {"text", "predicted speed-up"}, {"seen", "measured"}, {"error", "error on the held-out row"}});
  Json seen = points(series, x, measured, tips);
  seen["transform"] = Json::array({{{"filter", "isValid(datum.measured)"}}});
  const Json layers = Json::array(
      {bands(series, x, y, 0.13),
       {{"mark", {{"type", "line"}, {"strokeWidth", 1.8}, {"strokeDash", {6, 4}}}},
        {"encoding", {{"x", x}, {"y", y}, {"color", color(series)}, {"opacity", fading()}}}},
       {{"mark", {{"type", "point"}, {"filled", false}, {"size", 45}, {"opacity", 1}}},
        {"encoding", {{"x", x}, {"y", y}, {"color", color(series)}, {"opacity", fading()}, {"tooltip", tips}}}},
       seen});
  return frame(280, values, layers, series);
}

}  // namespace

std::vector<ChartGroup> prediction_charts(const Comparison& comparison, const std::vector<Prediction>& predictions) {
  ChartGroup group{"Beyond this machine",
                   "Dashed: predicted. Filled: measured. The band is the largest error of the model on a held-out row, at least "
                   "5 %, plus the same again for each doubling; it is not a confidence interval. If the error is above 15 %, the "
                   "curve ends at the measured number of devices.",
                   {}};
  std::map<std::tuple<ScalingMode, DeviceKind, double>, std::vector<const Prediction*>> places;
  for (const Prediction& prediction : predictions) {
    if (prediction.steps.size() < 2) continue;
    const TrialKey& trial = prediction.largest->trial();
    const auto batch = static_cast<double>(listed_batch(trial));
    places[{trial.scaling, trial.device_kind, batch}].push_back(&prediction);
  }
  for (const auto& [place, members] : places) {
    const auto& [scaling, kind, batch] = place;
    group.add("prediction",
              fmt::format("{} {:.0f}, {} scaling, on {}", scaling == ScalingMode::weak ? "batch per device" : "global batch", batch,
                          to_string(scaling), to_string(kind)),
              [&, &members = members] { return spec_of(members, all_series(comparison)); });
  }
  if (group.charts.empty()) return {};
  group.caption += scales_text(group);
  return {group};
}

}  // namespace mgcompare
