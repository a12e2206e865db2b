#pragma once

// Explanations of slow rows: rules on the measurements, each with its evidence and a recommended action.

#include <string>
#include <vector>

#include "reports/comparison.h"
#include "reports/tables.h"

namespace mgcompare {

struct Reason {
  std::string rule;                 // "E1": tells the rules apart, and is not shown
  std::string title;
  std::string evidence;             // of the best row on several devices if the rule applies to it, else of the worst row
  std::string action;
};

// In the order of the rules; one for each rule and action.
std::vector<Reason> explain(const Comparison& comparison);

// The global batch above which each strategy on several devices is faster than one device.
Table break_even_table(const Comparison& comparison);

}  // namespace mgcompare
