#pragma once

// Training of trials and loading of data in a worker process.

#include "process/worker.h"
#include "train/session.h"

namespace mgcompare {

// "trial" runs one trial and returns its Result. "data" loads the data set of a config and returns its name, origin,
// fingerprint and sizes. The session must outlive the handlers.
Handlers trial_handlers(Session& session);

}  // namespace mgcompare
