#pragma once

// The doctor's and the roll call's questions in a process of their own, because they open devices. Both sides are here.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "results/link_measurements.h"
#include "mgcompare/types.h"
#include "process/supervisor.h"
#include "process/worker.h"

namespace mgcompare {

// What the doctor finds of a kind of devices. Never throws for what happens in the worker: that is a problem of the
// links.
LinkMeasurements measure_links_in_worker(Supervisor& supervisor, DeviceKind kind, const DoctorScope& scope,
                        const std::function<void(const std::string&)>& say);

struct DeviceStatus {
  int index = -1;       // the device's number now
  std::string silence;  // why it does not answer; empty where it does
};

// Asks the devices of a kind, by what they were called when the run began, one after another: one that hangs is given
// up after `limit_seconds` and takes its worker along, not the others' answers. None when the user interrupts.
std::optional<std::vector<DeviceStatus>> check_devices(Supervisor& supervisor, DeviceKind kind,
                                                 const std::vector<std::string>& ids, double limit_seconds);

Handlers doctor_handlers();

}  // namespace mgcompare
