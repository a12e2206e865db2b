#pragma once

// Checks of devices in a worker process, because they open devices: the measurements of `doctor`, and whether devices still
// answer. Both sides are here.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "results/link_measurements.h"
#include "mgcompare/types.h"
#include "process/supervisor.h"
#include "process/worker.h"

namespace mgcompare {

// Measures the devices of one kind and their links. Does not throw if the worker fails; the result then has a problem.
// `report` is called with the name of each step.
LinkMeasurements measure_links_in_worker(Supervisor& supervisor, DeviceKind kind, const DoctorScope& scope,
                                         const std::function<void(const std::string&)>& report);

struct DeviceStatus {
  int index = -1;       // current number of the device
  std::string silence;  // why it does not answer; empty: it answers
};

// Checks the devices of a kind one after another, by their ids at the beginning of the run. A device that does not answer
// within `limit_seconds` ends its worker; the next one is checked in another. Returns nothing if the user interrupts, or if
// descriptors or processes are short, which says nothing about the devices.
std::optional<std::vector<DeviceStatus>> check_devices(Supervisor& supervisor, DeviceKind kind,
                                                       const std::vector<std::string>& ids, double limit_seconds);

Handlers doctor_handlers();

}  // namespace mgcompare
