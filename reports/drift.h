#pragma once

// Whether the speed of the machine changed during a run: the one-device baseline runs in every block, and also at the
// beginning, in the middle and at the end of the run (plan/baseline_reruns.h).

#include <vector>

#include "reports/comparison.h"
#include "reports/tables.h"

namespace mgcompare {

struct SpeedDrift {
  const Row* before;                // two successive runs of one baseline
  const Row* after;
  double change;                    // of samples/s, relative to `before`; signed
};

// Changes of more than 3 %, in order of execution. If no single change of a baseline is that large, but the total change is,
// `before` is its first run and `after` its last.
std::vector<SpeedDrift> drifts(const Comparison& comparison);

// The largest change, up or down. `drifts` is not empty.
const SpeedDrift& largest(const std::vector<SpeedDrift>& drifts);

// All runs of the baselines that have bracket runs, in order of execution.
Table drift_table(const Comparison& comparison);

}  // namespace mgcompare
