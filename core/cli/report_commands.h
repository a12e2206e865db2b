#pragma once

// The commands that only read runs: `report`, `predict`, `compare` and `export`.

#include "cli/command_line.h"
#include "results/results_store.h"

namespace mgcompare {

int write_report_again(const Command& command);
int predict_more(const Command& command);     // step times on more devices than were measured
int compare_two(const Command& command);      // two runs row by row; also writes comparison.md
int export_run(const Command& command);       // log files for other programs

// Says on stderr why the results of a run are doubtful.
void warn_of_taints(const Run& run);

}  // namespace mgcompare
