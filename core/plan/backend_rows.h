#pragma once

// Rows of backends: what a backend lacks for one of them.

#include <string>

#include "discovery/capabilities.h"
#include "plan/trial.h"

namespace mgcompare {

// Why the backend that answered so cannot run this trial with this config: it is unavailable, or does not support its kind of
// device, precision, optimiser, a layer or the shifts of images. Empty if it can, if it
// reports problems of the config, and for a strategy.
std::string missing_in_backend(const StrategySummary& answer, const TrialKey& trial, const Config& config);

// Adds to a trial what its backend trains with, and missing_in_backend() if nothing else is. Nothing for a strategy.
void add_backend(TrialKey& trial, const StrategySummary& answer, const Config& config);

}  // namespace mgcompare
