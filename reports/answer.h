#pragma once

// Whether several devices pay.

#include <cstddef>
#include <optional>
#include <string>

#include "reports/comparison.h"

namespace mgcompare {

// Whether several devices are better than one by the objective of the comparison, with the figures, or what is missing for an
// answer. Empty if no trial was completed.
struct Answer {
  std::string verdict, grounds;
};
Answer answer(const Comparison& comparison);
// The two rows whose order decides the answer.
struct Contest {
  const Cell* several;              // best_on_several()
  const Cell* one;                  // on one device
  Order order;                      // above: several devices are better; corrected for `pairs`
  std::size_t pairs;                // that were compared
  bool is_contradictory = false;    // undecided, because the faster one reached the target in fewer repeats
};
// None if there is no such row on several devices, or its rows on one device missed a target by which the comparison goes.
std::optional<Contest> contest(const Comparison& comparison);
// The best row on several devices by the objective (for throughput: the largest speed-up), among rows that train one model,
// have a baseline, and reached the target if the objective uses it. Null if there is none.
const Cell* best_on_several(const Comparison& comparison);

}  // namespace mgcompare
