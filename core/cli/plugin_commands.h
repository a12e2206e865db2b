#pragma once

// The commands that run no comparison. Each prints its answer on stdout and returns an exit code.

#include "cli/command_line.h"

namespace mgcompare {

int list_plugins(const Command& command);   // with the options that each strategy asks for
int check_plugin(const Command& command);   // one file: what the program says of it
int new_plugin(const Command& command);     // a folder with a strategy that builds
int explain_config(const Command& command);
int verify_strategies(const Command& command);

}  // namespace mgcompare
