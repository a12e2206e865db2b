#pragma once

// Whether several devices pay.

#include <string>

#include "reports/comparison.h"

namespace mgcompare {

// Whether several devices are better than one by the objective of the comparison, with the figures, or what is missing for an
// answer. Empty if no trial was completed.
struct Answer {
  std::string verdict, grounds;
};
Answer answer(const Comparison& comparison);
// The best row on several devices by the objective (for throughput: the largest speed-up), among rows that train one model,
// have a baseline, and reached the target if the objective uses it. Null if there is none.
const Cell* best_on_several(const Comparison& comparison);

}  // namespace mgcompare
