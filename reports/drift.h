#pragma once

// Whether the machine stayed the same: the one-device baseline runs in every block and, beside them, at the beginning, at
// the end and between (brackets.h). What it did brackets the other rows.

#include <vector>

#include "reports/comparison.h"
#include "reports/tables.h"

namespace mgcompare {

struct Drift {
  const Row* before;                // two runs of one baseline, one after the other
  const Row* after;
  double change;                    // of samples/s, as a share of those before; signed
};

// Changes beyond 3 %, in order of execution. A baseline none of whose changes is beyond that, and all together are, has
// drifted slowly: then `before` is its first run and `after` its last.
std::vector<Drift> drifts(const Comparison& comparison);

// The largest of some, either way.
const Drift& largest(const std::vector<Drift>& drifts);

// Every run of the bracketing baselines, in order of execution.
Table drift_table(const Comparison& comparison);

}  // namespace mgcompare
