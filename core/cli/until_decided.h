#pragma once

// `run --until-decided MINUTES`: further blocks of repeats after the planned trials.

#include <functional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/progress_display.h"
#include "plan/plan.h"
#include "results/results_store.h"

namespace mgcompare {

// The plan with the further blocks that the run has already, so that a resumed run continues them.
Plan with_further_blocks(Plan plan, const ResultsStore& results);

// Adds and runs one block after another, until the answer is decided, no number of repeats is expected to decide it, or the next block
// would not end within the minutes of the command. Says on stderr what it adds, and why it stops.
void run_until_decided(ResultsStore& results, const Plan& plan, const std::string& data_fingerprint, const Command& command,
                       const std::function<void(const Trial&, ProgressDisplay&)>& run_trial);

}  // namespace mgcompare
