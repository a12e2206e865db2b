#pragma once

// Whether the ranks of a row had the cores of a CPU to themselves.

#include <optional>

#include "reports/comparison.h"

namespace mgcompare {

struct Oversubscription {
  double threads = 0;               // of the row
  double cores = 0;                 // physical
  double load = 0;                  // of the machine, in the minute before the run: an earlier run is in it

  bool is_by_others() const { return threads <= cores; }
};

// None on GPUs, with enough cores, and where the number of cores is not known.
std::optional<Oversubscription> oversubscription(const Run& run, const Cell& cell);

}  // namespace mgcompare
