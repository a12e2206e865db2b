#pragma once

#include <functional>

#include "discovery/capabilities.h"

namespace mgcompare {

// Creates the strategy in this process and returns its traits, its options and their problems. Call in a worker only: a
// plugin can end the process. `opened` is called when the plugin's file is open.
StrategySummary probe_strategy(const ProbeQuestion& question, const std::function<void()>& opened = [] {});

}  // namespace mgcompare
