#pragma once

// Measures the devices and links of a machine with the calls that strategies use. Call in a worker only.

#include <functional>
#include <string>
#include <vector>

#include "results/link_measurements.h"
#include "platform/platform.h"

namespace mgcompare {

// Calls `report` with the name of each part before it starts. Throws the errors of devices.
LinkMeasurements measure_links(Platform& platform, const DoctorScope& scope, const std::function<void(const std::string&)>& report);

}  // namespace mgcompare
