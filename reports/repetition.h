#pragma once

// The command that runs one row of a report again.

#include <string>

#include "results/results_store.h"

namespace mgcompare {

struct Repetition {
  std::string intro;                // explanation
  std::string command;              // for a shell; empty if the plan has no trial
};
Repetition repetition_of(const Run& run);

}  // namespace mgcompare
