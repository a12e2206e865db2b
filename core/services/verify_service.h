#pragma once

// `verify` in a process of its own, because it opens plugins and devices. Both sides are here.

#include "services/probe_service.h"
#include "process/worker.h"

namespace mgcompare {

// Prints each finding as it is made; returns whether none failed. Throws Error when the process dies. `quick` selects
// quick_scope().
bool verify_in_worker(const Config& config, CapabilityProbe& probe, bool quick, SupervisorSettings settings);

Handlers verify_handlers();

}  // namespace mgcompare
