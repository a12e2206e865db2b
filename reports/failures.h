#pragma once

// Trials that are not done.

#include <string>
#include <utility>
#include <vector>

#include "reports/comparison.h"
#include "reports/tables.h"

namespace mgcompare {

// Equal failures of one row, and of unavailable devices in many rows. Extra runs (brackets, controls) are apart from repeats.
struct Failure {
  std::string title;
  TrialStatus status = TrialStatus::failed;
  std::string cause;
  std::size_t trials = 0;
  std::size_t more_rows = 0;        // besides the one in the title
  bool extra = false;
  const Row* last = nullptr;
};

// Unavailable ones come first, then by time, so that the last line is the most recent failure.
std::vector<Failure> failures(const Comparison& comparison);

// The cause, and where the last of the trials failed; may be empty.
std::string cause_text(const Failure& failure);

// " (3 repeats)", " (2 extra runs)"; empty for one repeat.
std::string count_of(const Failure& failure);

Table failure_table(const Comparison& comparison);
// "The last lines of X (trial 3)" and the lines, for each kind of failure with output.
std::vector<std::pair<std::string, std::string>> failure_logs(const Comparison& comparison);

}  // namespace mgcompare
