#include "reports/accuracy_gap.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/text.h"

namespace mgcompare {

std::string lower_accuracy_text(const Cell& cell, const Cell& other) {
  const Spread &its = cell.accuracy, &others = other.accuracy;
  if (its.count == 0 || others.count == 0 || its.most >= others.least) return "";
  const double least_gap = std::min(its.count, others.count) >= kDecisiveRepeats ? 0.005 : 0.02;
  if (others.median - its.median < least_gap) return "";
  return fmt::format("{} against {}", accuracy_text(its.median), accuracy_text(others.median));
}

}  // namespace mgcompare
