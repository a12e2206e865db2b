#pragma once

// Opens the back ends (modules in ../lib/mgcompare beside the program) with Boost.DLL. Call in a worker only.

#include <vector>

#include "platform/platform.h"
#include "discovery/capabilities.h"

namespace mgcompare {

// Every kind of devices, with its devices or the reason why there are none.
std::vector<PlatformSummary> find_platforms();

// Opens the back end at its first use and never closes it. Any thread. Throws Error with the reason if it cannot be opened.
Platform& platform(DeviceKind kind);

}  // namespace mgcompare
