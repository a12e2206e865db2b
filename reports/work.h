#pragma once

// What a step costs a device by itself: seconds = fixed + a sample's * samples. The fixed part is launching kernels and
// the like; it is what more devices cannot divide.

#include <optional>
#include <vector>

#include "reports/comparison.h"

namespace mgcompare {

struct Work {
  double fixed = 0, per_sample = 0; // seconds
  double error = 0;                 // the largest, as a share of what was measured
  std::size_t sizes = 0;            // different counts of samples it was fitted on
  std::size_t rows = 0;
  double least = 0;                 // of those counts
  double seconds(double samples) const { return fixed + per_sample * samples; }
};

// Of these seconds of a step in rows whose parts are known, by samples a device; absent with fewer than two different
// counts of samples, or where time does not grow with them.
std::optional<Work> fit_work(const std::vector<const Cell*>& cells, double (*seconds)(const Cell&));

// A step's seconds without exchange and waiting.
double own_seconds(const Cell& cell);
// Those of computing and input alone, which are the same in all strategies that train one network; and all others.
double computing_seconds(const Cell& cell);
double other_seconds(const Cell& cell);
double samples_per_device(const Cell& cell);

// The global batch from which on `devices` are faster than one: work saved pays for the `cost` seconds that a step costs
// on them besides. Absent where they never are.
std::optional<double> break_even_batch(const Work& work, double cost, std::size_t devices);

}  // namespace mgcompare
