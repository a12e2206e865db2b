#include "measure/step_breakdown.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include "measure/exchange_calls.h"

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

// Of the replays of one kind. First ones count if asked for, or where there are no others.
double mean_seconds(const std::vector<Replay>& replays, bool is_marked, bool with_first) {
  double sum[2] = {0, 0};
  int count[2] = {0, 0};
  for (const Replay& one : replays) {
    if (one.is_marked != is_marked) continue;
    sum[one.is_first ? 1 : 0] += one.seconds;
    ++count[one.is_first ? 1 : 0];
  }
  if (with_first || count[0] == 0) sum[0] += sum[1], count[0] += count[1];
  return count[0] == 0 ? 0 : sum[0] / count[0];
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

void StepBreakdown::fit(double seconds) {
  const double change = times.sum() / seconds;
  if (!(change > 1 / kMostChange && change < kMostChange)) return;
  divide(change);
  for (ExchangeCall& call : calls) call.begin /= change, call.join /= change, call.after /= change;
}

void StepBreakdown::divide(double steps) {
  times *= 1 / steps;
  for (double& seconds : exchanges) seconds /= steps;
}

StepBreakdown break_down(const std::vector<PhaseEvent>& marks, double seconds_a_mark) {
  return break_down(marks, seconds_a_mark, {}, 0);
}

double slowdown_by_marks(const std::vector<Replay>& replays) {
  const double plain = mean_seconds(replays, false, false), marked = mean_seconds(replays, true, false);
  return plain > 0 && marked > 0 ? marked / plain : 1;
}

std::optional<StepBreakdown> break_down(const std::vector<Replay>& replays, const std::vector<std::vector<PhaseEvent>>& rounds, std::size_t steps) {
  const double plain = mean_seconds(replays, false, false), marked = mean_seconds(replays, true, false);
  if (plain <= 0 || marked <= 0 || rounds.empty() || rounds.front().empty()) return std::nullopt;
  const auto in_stream = std::count_if(rounds.front().begin(), rounds.front().end(), [](const PhaseEvent& mark) { return !mark.beside; });
  const double seconds_a_mark = std::max(0.0, (marked - plain) / static_cast<double>(in_stream));
  const bool all_are_first = std::none_of(replays.begin(), replays.end(), [](const Replay& one) { return one.is_marked && !one.is_first; });
  StepBreakdown sum;
  std::size_t round = 0, counted = 0;
  for (const Replay& one : replays) {
    if (!one.is_marked || round == rounds.size()) continue;
    const std::vector<PhaseEvent>& marks = rounds[round++];
    if (one.is_first && !all_are_first) continue;
    ++counted;
    const StepBreakdown part = break_down(marks, seconds_a_mark);
    sum.times += part.times;
    // Between two replays.
    sum.times.harness += std::max(0.0, one.seconds - (marks.back().at - marks.front().at));
    sum.exchanges.insert(sum.exchanges.end(), part.exchanges.begin(), part.exchanges.end());
  }
  if (counted == 0) return std::nullopt;
  sum.calls = exchange_calls(rounds.back());
  sum.call_steps = steps;
  sum.fit(mean_seconds(replays, false, true) * static_cast<double>(counted));
  sum.divide(static_cast<double>(steps * counted));
  return sum;
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
