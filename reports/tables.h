#pragma once

// The tables of a report, for all formats. Texts are not escaped; the writer of each format does that.

#include <string>
#include <utility>
#include <vector>

#include "base/text_table.h"
#include "reports/comparison.h"

namespace mgcompare {

// A line end in a cell begins a second line, if the format has two-line cells; otherwise it is a space.
struct Table {
  std::string title;
  std::string intro;
  TextRow head;
  std::size_t left = 1;             // number of text columns before the figures
  std::vector<TextRow> lines;
  std::vector<std::pair<std::string, std::string>> facts;  // name and value, above the table
};

// Moves the range of with_range() to the second line of the cell.
std::string in_two(std::string figure);

// How the parts of a step were measured, for the kinds of devices in the comparison.
std::string origin_of_parts(const Comparison& comparison);

// With the columns of the original experiments.
Table results_table(const Comparison& comparison);
Table settings_table(const Comparison& comparison);  // batch per device, learning rate; training accuracy and total time
Table speed_table(const Comparison& comparison);
Table target_table(const Comparison& comparison);
Table time_table(const Comparison& comparison);
Table clock_table(const Comparison& comparison);  // time outside of training
Table rank_table(const Comparison& comparison);   // one line per rank
Table ladder_table(const Comparison& comparison);
Table bytes_table(const Comparison& comparison);
Table epoch_table(const Comparison& comparison);
Table metric_table(const Comparison& comparison);
Table outlier_table(const Comparison& comparison);
Table order_table(const Run& run);

}  // namespace mgcompare
