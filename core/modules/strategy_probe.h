#pragma once

#include "discovery/capabilities.h"

namespace mgcompare {

// Creates the strategy in this process and returns its traits, its options and their problems. Call only in a worker:
// a plugin can end the process.
StrategySummary probe_strategy(const ProbeQuestion& question);

}  // namespace mgcompare
