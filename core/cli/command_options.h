#pragma once

// Declares the commands of the program and their options to CLI11.

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace CLI {
class App;
}

namespace mgcompare {

// What is parsed goes to `command`; the values of --only go to `filters`, which become part of the command at the end.
void add_commands(CLI::App& app, Command& command, std::vector<std::string>& filters);

}  // namespace mgcompare
