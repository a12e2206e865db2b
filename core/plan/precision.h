#pragma once

// The arithmetic of a plan's rows on the devices that there are: a row says what it computes in, or does not run.

#include <string>
#include <vector>

#include "config/config.h"
#include "discovery/capabilities.h"

namespace mgcompare {

// Why the first `devices` of a kind cannot compute in the precision that the config insists on; empty where they can.
std::string refused_precision(const Config& config, const std::vector<PlatformSummary>& platforms, DeviceKind kind,
                              std::size_t devices);
// The config whose `auto` precision is fp32 where not all devices of the kind have the usual one: rows that are
// compared compute alike.
Config with_precision(Config config, const std::vector<PlatformSummary>& platforms, DeviceKind kind);
// The sentence that says so; empty where with_precision() changes nothing.
std::string changed_precision(const Config& config, const std::vector<PlatformSummary>& platforms, DeviceKind kind);

}  // namespace mgcompare
