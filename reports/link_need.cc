#include "reports/link_need.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "plan/listed_batch.h"
#include "reports/rehearsed_step.h"
#include "reports/text.h"
#include "reports/titles.h"

namespace mgcompare {
namespace {

constexpr double kSlowest = 1e3, kFastest = 1e14;   // bytes/s
constexpr double kUsualLatency = 5e-6;              // seconds per message, where no link was measured
constexpr int kBisections = 60;

double batch_of(const Cell& cell) { return static_cast<double>(listed_batch(cell.trial())); }

LinkModel link_with(double latency, double bandwidth) { return {"", "", latency, bandwidth}; }

}  // namespace

std::vector<LinkNeed> link_needs(const Comparison& comparison, const std::vector<Prediction>& predictions) {
  std::vector<LinkNeed> needs;
  for (const Prediction& prediction : predictions) {
    const Cell& cell = *prediction.largest;
    if (!prediction.trusted || !prediction.is_rehearsed || !cell.baseline) continue;
    const auto [devices, repeats] = *rehearsals_of(comparison, cell).begin();
    if (std::none_of(repeats.begin(), repeats.end(), [](const Row* row) { return row->result.bytes_per_step > 0; })) continue;
    const Cell& alone = comparison.cells[*cell.baseline];
    const double base = static_cast<double>(alone.trial().global_batch) / median_step(alone);
    const double latency = prediction.link.latency > 0 ? prediction.link.latency : kUsualLatency;
    const auto speed_up = [&, &all = repeats](double bandwidth) {
      const ExchangeCost cost(*comparison.run, cell.trial().device_kind, link_with(latency, bandwidth));
      return static_cast<double>(all.front()->trial.global_batch) / rehearsed_step(all, cost) / base;
    };
    LinkNeed need{prediction.series, cell.trial().device_kind, batch_of(cell), devices, latency, std::nullopt, speed_up(std::numeric_limits<double>::infinity())};
    if (speed_up(kSlowest) > 1) {
      need.bandwidth = 0;
    } else if (speed_up(kFastest) > 1) {
      double slow = kSlowest, fast = kFastest;
      for (int k = 0; k < kBisections; ++k) (speed_up(std::sqrt(slow * fast)) > 1 ? fast : slow) = std::sqrt(slow * fast);
      need.bandwidth = fast;
    }
    needs.push_back(std::move(need));
  }
  return needs;
}

Table link_need_table(const std::vector<LinkNeed>& needs) {
  Table table{"Link that several devices need",
              "The bandwidth from which on so many devices are faster than one, by rehearsals on one device, and the speed-up at most, if the bandwidth were "
              "infinite. Each message is taken to cost the latency.",
              {"strategy", "batch", "devices", "latency", "bandwidth", "speed-up at most"},
              2,
              {}, {}};
  for (const LinkNeed& need : needs)
    table.lines.push_back({need.series, count_text(need.batch), fmt::format("{}:{}", to_string(need.device_kind), need.devices), seconds_text(need.latency),
                           !need.bandwidth ? "none is enough" : *need.bandwidth == 0 ? "any" : fmt::format("{}/s", bytes_text(*need.bandwidth)),
                           fmt::format("{:.2f}", need.most)});
  return table;
}

std::vector<std::string> predicted_break_even(const std::vector<Prediction>& predictions) {
  struct Point {
    double batch, speed_up;
  };
  std::map<std::tuple<std::string, DeviceKind, std::size_t>, std::vector<Point>> all;
  for (const Prediction& prediction : predictions) {
    if (!prediction.trusted || !prediction.is_rehearsed || prediction.largest->trial().scaling == ScalingMode::weak) continue;
    const auto step = std::find_if(prediction.steps.begin(), prediction.steps.end(), [](const PredictedStep& one) { return one.devices > 1; });
    if (step != prediction.steps.end())
      all[{prediction.series, prediction.largest->trial().device_kind, step->devices}].push_back({batch_of(*prediction.largest), step->speed_up});
  }
  std::vector<std::string> sentences;
  for (auto& [key, points] : all) {
    const auto& [series, kind, devices] = key;
    std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.batch < b.batch; });
    for (auto lower = points.begin(); lower + 1 < points.end(); ++lower) {
      const Point &below = *lower, &above = *(lower + 1);
      if (!(below.speed_up < 1 && above.speed_up >= 1)) continue;
      const double share = std::log(1 / below.speed_up) / std::log(above.speed_up / below.speed_up);
      sentences.push_back(fmt::format("Predicted break-even batch of {} on {}: {:.0f}.", series, devices_text(devices, kind),
                                      below.batch * std::pow(above.batch / below.batch, share)));
    }
  }
  return sentences;
}

}  // namespace mgcompare
