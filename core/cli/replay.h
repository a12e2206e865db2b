#pragma once

// `mgcompare replay DIR`: the recorded trials of a run once more, each in the order in which its ranks met.

#include "cli/command_line.h"

namespace mgcompare {

// Says of each whether it ended in the same weights, on stdout. Throws Error where nothing was recorded.
int replay_run(const Command& command);

}  // namespace mgcompare
