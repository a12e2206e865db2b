#pragma once

// Whether the ranks of a row wait for one that is slower, or for each other in turn.

#include <cstddef>
#include <optional>

#include "reports/comparison.h"

namespace mgcompare {

// The rank with the longest compute time over all repeats, if the others wait for it. A rank that is slow in one repeat is noise.
struct Straggler {
  std::size_t rank = 0;
  double ratio = 1;                 // of its compute time to that of the median rank; with two ranks to the other's
  double waiting = 0;               // of the other ranks: mean share of the step
};
std::optional<Straggler> straggler(const Cell& cell);

// The ranks wait, but all of them compute about equally long over all repeats, and wait about equally long: no rank is a straggler.
bool waits_in_turn(const Cell& cell);

}  // namespace mgcompare
