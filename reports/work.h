#pragma once

// A model of the time of a step on one device: seconds = fixed + per_sample * samples. More devices do not reduce the fixed
// part, for example kernel launches.

#include <optional>
#include <vector>

#include "reports/comparison.h"

namespace mgcompare {

struct StepTime {
  double fixed = 0, per_sample = 0; // seconds
  double error = 0;                 // largest relative error of the fit
  std::size_t sizes = 0;            // number of different batches per device in the fit
  std::size_t rows = 0;
  double least = 0;                 // smallest of them
  double seconds(double samples) const { return fixed + per_sample * samples; }
};

// Fits `seconds` of the rows with a reliable breakdown against their samples per device. Absent with fewer than two different
// numbers of samples, or if the time does not grow with them.
std::optional<StepTime> fit_work(const std::vector<const Cell*>& cells, double (*seconds)(const Cell&));

// Seconds of a step without exchange and waiting.
double own_seconds(const Cell& cell);
// Seconds of compute and input, which do not depend on the strategy; and of all other parts.
double computing_seconds(const Cell& cell);
double other_seconds(const Cell& cell);
double samples_per_device(const Cell& cell);

// The global batch above which `devices` are faster than one, if their steps take `cost` seconds more. Absent if they never
// are.
std::optional<double> break_even_batch(const StepTime& work, double cost, std::size_t devices);

}  // namespace mgcompare
