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

// That the backend of this name cannot run at all, and why: one sentence for all its rows. Empty if it can.
std::string missing_backend(const StrategySummary& answer, const std::string& name);

// Adds to a trial what its backend trains with, and missing_in_backend() if nothing else is. Nothing for a strategy.
void add_backend(TrialKey& trial, const StrategySummary& answer, const Config& config);

}  // namespace mgcompare
