#pragma once

// Measures a machine's devices and links, with the very calls that strategies train with. Called in a worker.

#include <functional>
#include <string>
#include <vector>

#include "results/link_measurements.h"
#include "platform/platform.h"

namespace mgcompare {

// Throws what a device reports. `say` is told what comes next.
LinkMeasurements examine(Platform& platform, const DoctorScope& scope, const std::function<void(const std::string&)>& say);

}  // namespace mgcompare
