#pragma once

// Checks numerics.precision and numerics.kernels against the devices: a row runs as they say, or is unavailable.

#include <string>
#include <vector>

#include "config/config.h"
#include "discovery/capabilities.h"

namespace mgcompare {

// Why the first `devices` of a kind do not support the precision or the kernels of the config; empty if they do.
std::string refused_numerics(const Config& config, const std::vector<PlatformSummary>& platforms, DeviceKind kind,
                             std::size_t devices);
// Replaces `auto` by fp32 unless all devices of the kind support its usual precision, so that compared rows use the same.
Config with_precision(Config config, const std::vector<PlatformSummary>& platforms, DeviceKind kind);
// A warning about that change; empty if with_precision() changes nothing.
std::string changed_precision(const Config& config, const std::vector<PlatformSummary>& platforms, DeviceKind kind);

}  // namespace mgcompare
