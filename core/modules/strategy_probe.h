#pragma once

#include "discovery/capabilities.h"

namespace mgcompare {

// Creates the strategy in this process and returns its traits, its options and their problems. Call in a worker only: a
// plugin can end the process.
StrategySummary probe_strategy(const ProbeQuestion& question);

}  // namespace mgcompare
