#include "measure/step_breakdown.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

namespace mgcompare {
namespace {

using Layer = std::vector<Stretch>;

// The work of a device by phase: in its main stream, and overlapping it.
struct Lanes {
  Layer own[kPhases], beside[kPhases];
  Layer marks;                      // overhead of marks in the main stream; others delay nothing
  std::vector<double> exchanges;
  double from = 0, to = 0;          // first and last mark of the main stream
};

Lanes lanes_of(const std::vector<PhaseEvent>& marks, double seconds_a_mark, double ahead) {
  Lanes lanes;
  for (const bool beside : {false, true}) {
    const PhaseEvent* last = nullptr;
    for (const PhaseEvent& mark : marks) {
      if (mark.beside != beside) continue;
      const double at = mark.at + ahead;
      if (!beside) lanes.marks.push_back({at, at + seconds_a_mark});
      if (last != nullptr) {
        (beside ? lanes.beside : lanes.own)[static_cast<int>(last->phase)].push_back({last->at + ahead, at});
        if (last->phase == Phase::exchange) lanes.exchanges.push_back(std::max(0.0, mark.at - last->at - seconds_a_mark));
      } else if (!beside) {
        lanes.from = at;
      }
      if (!beside) lanes.to = at;
      last = &mark;
    }
  }
  return lanes;
}

}  // namespace

std::vector<double> seconds_by_layer(const std::vector<std::vector<Stretch>>& layers, double from, double to) {
  struct Edge {
    double at;
    std::size_t layer;
    int step;                       // change of the number of open stretches
  };
  std::vector<Edge> edges;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    for (const Stretch& stretch : layers[layer]) {
      const double begin = std::max(stretch.begin, from), end = std::min(stretch.end, to);
      if (!(end > begin)) continue;
      edges.push_back({begin, layer, 1});
      edges.push_back({end, layer, -1});
    }
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  std::vector<double> seconds(layers.size(), 0.0);
  std::vector<int> open(layers.size(), 0);
  double last = from;
  for (const Edge& edge : edges) {
    const auto first = std::find_if(open.begin(), open.end(), [](int count) { return count > 0; });
    if (first != open.end()) seconds[static_cast<std::size_t>(first - open.begin())] += edge.at - last;
    open[edge.layer] += edge.step;
    last = edge.at;
  }
  return seconds;
}

void StepBreakdown::divide(double steps) {
  times *= 1 / steps;
  for (double& seconds : exchanges) seconds /= steps;
}

StepBreakdown break_down(const std::vector<PhaseEvent>& marks, double seconds_a_mark) {
  return break_down(marks, seconds_a_mark, {}, 0);
}

StepBreakdown break_down(const std::vector<PhaseEvent>& marks, double seconds_a_mark, const std::vector<StepClock::Span>& host,
                      double ahead) {
  Lanes lanes = lanes_of(marks, seconds_a_mark, ahead);
  Layer of_host[kPhases];
  for (const StepClock::Span& span : host) of_host[static_cast<int>(span.phase)].push_back({span.begin, span.end});
  std::vector<Layer> layers;
  std::vector<std::optional<Phase>> phases;
  const auto add = [&](std::optional<Phase> phase, std::initializer_list<const Layer*> parts) {
    Layer& layer = layers.emplace_back();
    for (const Layer* part : parts) layer.insert(layer.end(), part->begin(), part->end());
    phases.push_back(phase);
  };
  const auto own = [&](Phase phase) { return &lanes.own[static_cast<int>(phase)]; };
  const auto beside = [&](Phase phase) { return &lanes.beside[static_cast<int>(phase)]; };
  const auto by_host = [&](Phase phase) { return &of_host[static_cast<int>(phase)]; };
  add(std::nullopt, {&lanes.marks});
  add(Phase::compute, {own(Phase::compute), beside(Phase::compute)});
  add(Phase::optimizer, {own(Phase::optimizer), beside(Phase::optimizer), by_host(Phase::optimizer)});
  add(Phase::input, {own(Phase::input), by_host(Phase::input)});
  add(Phase::exchange, {own(Phase::exchange), beside(Phase::exchange), own(Phase::transfer), by_host(Phase::exchange),
                        by_host(Phase::transfer)});
  add(Phase::waiting, {by_host(Phase::waiting)});
  add(Phase::strategy, {by_host(Phase::strategy)});
  add(Phase::compute, {by_host(Phase::compute)});  // the host queues work that the device has not begun
  add(Phase::strategy, {own(Phase::strategy), own(Phase::waiting)});
  add(Phase::outside, {by_host(Phase::outside), own(Phase::outside)});

  StepBreakdown breakdown;
  breakdown.exchanges = std::move(lanes.exchanges);
  if (!host.empty()) lanes.from = host.front().begin, lanes.to = host.back().end;
  if (!(lanes.to > lanes.from)) return breakdown;
  const std::vector<double> seconds = seconds_by_layer(layers, lanes.from, lanes.to);
  for (std::size_t k = 0; k < layers.size(); ++k)
    if (phases[k]) part_of(breakdown.times, *phases[k]) += seconds[k];
  return breakdown;
}

}  // namespace mgcompare
