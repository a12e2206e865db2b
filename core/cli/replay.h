#pragma once

// `mgcompare replay DIR`: repeats the recorded trials of a run with their recorded schedules.

#include "cli/command_line.h"

namespace mgcompare {

// Prints for each trial whether its final weights are the same. Throws Error if nothing was recorded.
int replay_run(const Command& command);

}  // namespace mgcompare
