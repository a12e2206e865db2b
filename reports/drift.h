#pragma once

// Whether the machine stayed the same: the one-device baseline runs in every block, and what it did in between brackets
// the other rows.

#include <string>
#include <vector>

#include "reports/comparison.h"

namespace mgcompare {

struct Drift {
  const Row* before;                // two runs of one baseline, one after the other
  const Row* after;
  double change;                    // of samples/s, over the row's median; signed
};

// Changes beyond 3 %, in order of execution.
std::vector<Drift> drifts(const Comparison& comparison);

}  // namespace mgcompare
