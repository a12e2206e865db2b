#pragma once

// The tables of a report, for any format: texts are as they are, to be escaped by whoever writes them.

#include <string>
#include <utility>
#include <vector>

#include "base/text_table.h"
#include "reports/comparison.h"

namespace mgcompare {

using TextLine = TextRow;

// What follows a line end in a cell stands below what comes before it where a format has room for two lines, else behind it.
struct Table {
  std::string title;
  std::string intro;
  TextLine head;
  std::size_t left = 1;             // columns before the figures
  std::vector<TextLine> lines;
  std::vector<std::pair<std::string, std::string>> facts;  // name and value, above the table
};

// A figure with its range (with_range()) below it.
std::string in_two(std::string figure);

// Where the parts of a step come from, of the kinds of rows that there are.
std::string origin_of_parts(const Comparison& comparison);

// In the columns of the experiments that this program repeats.
Table results_table(const Comparison& comparison);
Table speed_table(const Comparison& comparison);
Table target_table(const Comparison& comparison);
Table time_table(const Comparison& comparison);
Table clock_table(const Comparison& comparison);  // what a trial takes besides
Table rank_table(const Comparison& comparison);  // a line a rank
Table ladder_table(const Comparison& comparison);
Table bytes_table(const Comparison& comparison);
Table epoch_table(const Comparison& comparison);
Table metric_table(const Comparison& comparison);
Table outlier_table(const Comparison& comparison);
Table failure_table(const Comparison& comparison);
Table order_table(const Run& run);

// "The last lines of X (trial 3)" and the lines, of every kind of failure that left some.
std::vector<std::pair<std::string, std::string>> failure_logs(const Comparison& comparison);
// Warnings of the plan and notes of the rows, each once.
std::vector<std::string> notes_of(const Comparison& comparison);

}  // namespace mgcompare
