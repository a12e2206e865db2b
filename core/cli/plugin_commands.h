#pragma once

// The commands `plugins` and `config`. Each prints its result on stdout and returns an exit code.

#include "cli/command_line.h"

namespace mgcompare {

int list_plugins(const Command& command);   // with the options of each strategy
int check_plugin(const Command& command);   // whether one file can be used
int new_plugin(const Command& command);     // creates a directory with a strategy that compiles
int explain_config(const Command& command);

}  // namespace mgcompare
