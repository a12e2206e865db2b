#pragma once

// The experiments that are installed with the program: configs that are run by their names.

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace mgcompare {

struct Experiment {
  std::string name;                 // "lenet"
  std::string summary;              // from the first sentence of its comment
};

// In the order of their names.
std::vector<Experiment> installed_experiments();
// The file of an experiment; empty if none is installed under this name.
std::string experiment_file(const std::string& name);

int list_experiments(const Command& command);

}  // namespace mgcompare
