#pragma once

// The devices of `scaling.devices` on this machine: which numbers of them have rows, and which of these rows cannot run.

#include <cstddef>
#include <string>
#include <vector>

#include "config/config.h"
#include "discovery/capabilities.h"

namespace mgcompare {

struct ListedDevices {
  DeviceKind kind;
  std::size_t count;                // on all hosts together
  std::size_t hosts;
  std::vector<int> ids;             // see DevicesConfig
  std::string unavailable;          // why rows on them cannot run; empty if they can
};

// In the order of the config. `hosts`: how many are named; each has the devices of this machine, or is refused before the first
// trial. `auto` and `{auto: counts}` list what the machine has; other counts are listed in any case. Throws Error if nothing is
// listed.
std::vector<ListedDevices> listed_devices(const ScalingConfig& scaling, const std::vector<PlatformSummary>& platforms, std::size_t hosts);

// The single devices on which strategies for one rank run: of each kind in `list` the first one (of the chosen ones, if all are), and each one that is
// chosen alone.
std::vector<ListedDevices> single_devices(const std::vector<ListedDevices>& list, const std::vector<PlatformSummary>& platforms);

}  // namespace mgcompare
