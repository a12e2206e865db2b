#pragma once

// Trials and their data in a worker process.

#include "process/worker.h"
#include "train/session.h"

namespace mgcompare {

// "trial" runs one trial and answers with its Result; "data" loads the data set of a config and answers with its name,
// origin, fingerprint and counts. The session must outlive the handlers.
Handlers trial_handlers(Session& session);

}  // namespace mgcompare
