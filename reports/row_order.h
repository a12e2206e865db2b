#pragma once

// Which of two rows is ahead: the one rule of the answer, of rankings and of tables.
//
// The repeats must differ by more than noise (compare_all() in statistics.h). Two more conditions keep a sentence from contradicting
// the figures beside it:
//
// - The 95 % interval of the factor, seed by seed, does not include 1. The rank test looks at all repeats of each row and does not
//   need that.
// - The two rows are farther from each other than any row that does what their baseline does is from it (copies.h). Else the machine
//   may have made the difference.

#include <string>
#include <vector>

#include "reports/figure.h"

namespace mgcompare {

struct RowPair {
  const Cell* one;
  const Cell* other;
  const Spread* factor = nullptr;   // Figure::factor() of both, if it is known
};

struct RowOrder {
  Order order = Order::undecided;   // above: the figure of `one` is larger
  std::string doubt;                // why, if undecided, as a phrase
  bool is_by_machine = false;       // undecided by the A/A check only
};

// Corrected for the number of pairs.
std::vector<RowOrder> order_rows(const std::vector<Cell>& cells, const std::vector<RowPair>& pairs, const Figure& figure);

}  // namespace mgcompare
