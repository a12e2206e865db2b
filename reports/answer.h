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
  const Cell* several = nullptr;    // best_on_several()
  const Cell* one = nullptr;        // on one device
  Order order = Order::undecided;   // above: several devices are better; corrected for `pairs` (row_order.h)
  std::size_t pairs = 0;            // that were compared
  std::string doubt;                // why, if undecided, as a phrase
  bool is_contradictory = false;    // undecided, because the better one reached the target in fewer repeats
  bool is_by_machine = false;       // undecided by the A/A check only

  // Whether further repeats may decide it.
  bool is_open() const { return order == Order::undecided && !is_contradictory && !is_by_machine; }
};
// None if there is no such row on several devices, or its rows on one device missed a target by which the comparison goes.
std::optional<Contest> contest(const Comparison& comparison);
// The best row on several devices by the objective (for throughput: the largest speed-up), among rows that train one model,
// have a baseline, and reached the target if the objective uses it. Null if there is none.
const Cell* best_on_several(const Comparison& comparison);

}  // namespace mgcompare
