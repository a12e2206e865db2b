#pragma once

// The doctor's and the roll call's questions in a process of their own, because they open devices. Both sides are here.

#include <functional>
#include <string>
#include <vector>

#include "doctor.h"
#include "supervisor.h"
#include "worker.h"

namespace mgcompare {

// What the doctor finds of a kind of devices. Never throws for what happens in the worker: that is a problem of the
// links.
Links examine_in_worker(Supervisor& supervisor, DeviceKind kind, const DoctorScope& scope,
                        const std::function<void(const std::string&)>& say);

// Asks the devices of a kind, by their numbers, for an answer: empty, or the sentence that says why there was none.
// `ids` are what they were called when the run began.
std::vector<std::string> call_roll(Supervisor& supervisor, DeviceKind kind, const std::vector<std::string>& ids);

Handlers examination_handlers();

}  // namespace mgcompare
