#pragma once

// How a reader of a report runs one of its rows again.

#include <string>

#include "results/results_store.h"

namespace mgcompare {

struct Repetition {
  std::string intro;                // what its reader has to know
  std::string command;              // for a shell; empty where the plan has no trial
};
Repetition repetition_of(const Run& run);

}  // namespace mgcompare
