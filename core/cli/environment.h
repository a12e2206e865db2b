#pragma once

// What the machine and the program were when a run was made, as key and value for the report. An allow-list: nothing of
// the user's environment but what changes figures.

#include <string>
#include <utility>
#include <vector>

#include "discovery/capabilities.h"

namespace mgcompare {

using Environment = std::vector<std::pair<std::string, std::string>>;

Environment capture_environment(const std::vector<PlatformSummary>& platforms);

}  // namespace mgcompare
