#pragma once

// Why rows are as fast as they are: rules over what was measured, each with its evidence and something to do about it.

#include <string>
#include <vector>

#include "reports/comparison.h"
#include "reports/tables.h"

namespace mgcompare {

struct Reason {
  std::string rule;                 // "E1"
  std::string title;
  std::string evidence;             // of the row that matters most: the best on several devices, else the worst
  std::string action;
};

// In the order of the rules; one a rule and action.
std::vector<Reason> explain(const Comparison& comparison);

// From which global batch on each strategy on several devices beats one device.
Table break_even_table(const Comparison& comparison);

}  // namespace mgcompare
