#pragma once

// What a checkpoint must have in common with the trial that resumes from it.

#include <string>

#include "data/dataset.h"
#include "plan/trial.h"

namespace mgcompare {

// SHA-256 (hexadecimal) over everything that determines the weights of a trial: the settings, its strategy with options and
// plugin file, devices, batch, seed and data; and over the identity of the run, because a checkpoint also has times: those of another
// run may be of another build or a busy machine. Names, limits and places of files are not part of it. Throws Error if the plugin
// file cannot be read.
std::string training_identity(const Trial& trial, const Dataset& data, const std::string& run);

}  // namespace mgcompare
