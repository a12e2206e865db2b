#pragma once

// Facts about the machine and the program at the time of a run, as keys and values for the report. Of the user's environment
// only variables on an allow-list, which can change measurements.

#include <string>
#include <utility>
#include <vector>

#include "discovery/capabilities.h"

namespace mgcompare {

using Environment = std::vector<std::pair<std::string, std::string>>;

Environment capture_environment(const std::vector<PlatformSummary>& platforms);

}  // namespace mgcompare
