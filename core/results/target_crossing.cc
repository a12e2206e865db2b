#include "results/target_crossing.h"

#include <optional>

namespace mgcompare {
namespace {

TargetCrossing between(const EvaluatedPoint& below, const EvaluatedPoint& reached, double target) {
  const double share = (target - below.accuracy) / (reached.accuracy - below.accuracy);
  return {below.seconds + share * (reached.seconds - below.seconds), below.epochs + share * (reached.epochs - below.epochs)};
}

}  // namespace

std::vector<EvaluatedPoint> evaluated_points(const std::vector<EpochResult>& epochs) {
  std::vector<EvaluatedPoint> points;
  double seconds = 0;
  for (std::size_t epoch = 0; epoch < epochs.size(); ++epoch) {
    const auto begun = static_cast<double>(epoch);
    for (const EvaluationResult& evaluation : epochs[epoch].evaluations)
      points.push_back({seconds + evaluation.seconds_training, begun + evaluation.epochs, evaluation.accuracy});
    seconds += epochs[epoch].seconds_training;
    points.push_back({seconds, begun + 1, epochs[epoch].accuracy});
  }
  return points;
}

TargetCrossing crossing_of(const std::vector<EpochResult>& epochs, double target) {
  if (!(target > 0)) return {};
  std::optional<EvaluatedPoint> below;
  for (const EvaluatedPoint& point : evaluated_points(epochs)) {
    if (point.accuracy >= target) return below ? between(*below, point, target) : TargetCrossing{point.seconds, point.epochs};
    if (point.accuracy < target) below = point;  // not if it is nan
  }
  return {};
}

}  // namespace mgcompare
