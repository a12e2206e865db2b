#pragma once

// The figure by which rows are compared, and the factor between two rows that sentences print.

#include <cmath>

#include "reports/comparison.h"

namespace mgcompare {

struct Figure {
  Spread Cell::* of_cell;
  double (*of_row)(const Row&);
  bool is_duration = false;         // less is faster: the factor is how many times as fast a row is

  // By how much `cell` is faster than `other`, or costs more; by seed if both have the seed.
  Spread factor(const Cell& cell, const Cell& other) const {
    return is_duration ? ratio(other.done, cell.done, of_row) : ratio(cell.done, other.done, of_row);
  }
};

inline Figure throughput_figure() { return {&Cell::samples_per_second, throughput}; }
// By the objective of the comparison.
inline Figure figure_of(const Comparison& comparison) {
  const Criterion by = criterion(comparison);
  return {by.of_cell, by.of_row, !by.more_is_better && comparison.objective != Objective::device_seconds};
}

// How far a factor is from 1 in either direction: the logarithm of its median.
inline double departure_of(const Spread& factor) { return std::abs(std::log(factor.median)); }

}  // namespace mgcompare
