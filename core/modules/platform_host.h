#pragma once

// The modules of device kinds that lie beside the program, opened with Boost.DLL. Call only in a worker.

#include <vector>

#include "platform/platform.h"
#include "discovery/capabilities.h"

namespace mgcompare {

// Every kind this program knows, with its devices or the sentence that says why there are none.
std::vector<PlatformSummary> find_platforms();

// Throws Error with that sentence.
Platform& platform(DeviceKind kind);

}  // namespace mgcompare
