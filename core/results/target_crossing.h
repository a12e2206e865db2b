#pragma once

// What a training had reached when, and when it reached its target accuracy.

#include <vector>

#include "results/result.h"

namespace mgcompare {

// An evaluation, within an epoch or at its end. Seconds and epochs are since the start of the training.
struct EvaluatedPoint {
  double seconds = 0, epochs = 0, accuracy = 0;
};

// All of a training, in order.
std::vector<EvaluatedPoint> evaluated_points(const std::vector<EpochResult>& epochs);

struct TargetCrossing {
  double seconds = 0;               // of training; 0: the target was not reached
  double epochs = 0;                // likewise
};

// Between the last evaluation below the target and the first
// that reached it, it is taken to grow linearly with the training time. Learning curves bend downwards, so the target was rather reached
// earlier than later. Before the first evaluation nothing is known: if it reached the target, its own time counts.
TargetCrossing crossing_of(const std::vector<EpochResult>& epochs, double target);

}  // namespace mgcompare
