#pragma once

// Completions of the command line for bash, zsh and fish, written from the table of commands. They start no program: what they
// offer is fixed when they are written, with the experiments that are installed then.

#include <string>
#include <vector>

#include "cli/command_description.h"
#include "cli/command_line.h"

namespace mgcompare {

std::string bash_completions(const std::vector<std::string>& experiments);
std::string zsh_completions(const std::vector<std::string>& experiments);
std::string fish_completions(const std::vector<std::string>& experiments);

// Both names of an option, its long one last.
std::vector<std::string> names_of(const OptionDescription& option);

int print_completions(const Command& command);

}  // namespace mgcompare
