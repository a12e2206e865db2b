#pragma once

// Rows of two runs that compute in the same way in different frameworks, for `compare`.

#include <string>
#include <utility>
#include <vector>

#include "reports/comparison.h"

namespace mgcompare {

struct Counterparts {
  std::vector<std::pair<const Cell*, const Cell*>> pairs;  // of the first run, and of the second
  std::vector<std::string> reasons;                        // why other rows are compared with none; sentences without a full stop
};

// Among rows with results that only one run has. A pair has the same strategy that computes like it (like_of()), network, devices,
// batch and variant, and two frameworks, and there is exactly one such row on each side. Without rows of different frameworks both are empty.
Counterparts counterparts(const std::vector<const Cell*>& before, const std::vector<const Cell*>& after);

}  // namespace mgcompare
