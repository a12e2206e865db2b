#pragma once

// Devices that were found, as JSON between processes.

#include <nlohmann/json.hpp>

#include "discovery/capabilities.h"

namespace mgcompare {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceSummary, kind, index, name, memory, notes, id, problems, precisions)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlatformSummary, kind, problem, devices, facts)

}  // namespace mgcompare
