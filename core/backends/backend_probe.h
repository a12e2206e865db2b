#pragma once

// Asks a backend what it is and whether the options of a row are right.

#include <functional>
#include <string>

#include "discovery/capabilities.h"

namespace mgcompare {

inline constexpr double kDescribeSeconds = 60;  // for its answer

// Starts the program in a new folder below `scratch`. Always answers: a backend that cannot describe itself is unavailable, with its
// reason, or has `crash` if it crashes or blocks. `stop` is polled: true throws Interrupted. For workers only.
StrategySummary probe_backend(const ProbeQuestion& question, const std::string& scratch, const std::function<bool()>& stop);

}  // namespace mgcompare
