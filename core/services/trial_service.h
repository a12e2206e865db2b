#pragma once

// Training of trials and loading of data in a worker process.

#include "process/worker.h"
#include "train/session.h"

namespace mgcompare {

// "trial" runs one trial and returns its Result. "data" loads the data set of a config and returns its name, origin,
// fingerprint and sizes. `hosts`: those that run a trial; empty: this process alone. The session must outlive the handlers.
using HostsOf = std::function<HostSpan(const Trial& trial)>;
Handlers trial_handlers(Session& session, HostsOf hosts = {});

}  // namespace mgcompare
