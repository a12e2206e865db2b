#pragma once

// What the program says when it is started without a config.

#include "cli/command_line.h"

namespace mgcompare {

// Prints on stderr which command to begin with on this machine, with its devices, its data and an estimate of the time. Returns
// kUsage: nothing was run.
int propose_first_command(const Command& command);

}  // namespace mgcompare
