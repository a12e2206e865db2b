#pragma once

// The columns that tables of rows have in common.

#include <string>
#include <vector>

#include "base/text_table.h"
#include "reports/comparison.h"

namespace mgcompare {

// "cpu:2", "cpu:2 x 4 ranks"
std::string devices_of(const TrialKey& trial);
// "bmuf (small rate)"
std::string strategy_of(const TrialKey& trial);
// Strategy, devices and global batch.
TextRow identity(const Cell& cell);
TextRow with(TextRow line, const TextRow& more);

// A line for each cell with results.
template <class F>
std::vector<TextRow> lines_of(const Comparison& comparison, const F& line) {
  std::vector<TextRow> lines;
  for (const Cell& cell : comparison.cells) {
    if (!cell.done.empty()) lines.push_back(line(cell));
  }
  return lines;
}

}  // namespace mgcompare
