#pragma once

// The command `verify`. Prints its results on stdout and returns an exit code.

#include "cli/command_line.h"

namespace mgcompare {

int verify_strategies(const Command& command);

}  // namespace mgcompare
