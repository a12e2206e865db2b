#pragma once

// `--help`, and the command `help`.

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace mgcompare {

// The help of a command ("plugins", "new"), or that of the program for no words. Throws UsageError for another command.
std::string help_text(const std::vector<std::string>& words);

int print_help(const Command& command);

}  // namespace mgcompare
