#pragma once

// `verify` in a worker process, because it opens plugins and devices. Both sides are here.

#include <string>

#include "config/config.h"
#include "process/worker.h"
#include "services/probe_service.h"

namespace mgcompare {

struct VerifyRequest {
  Config config;
  std::string data_folder;          // given with --data; empty: not given
  bool quick = false;               // quick_scope()
};

// Prints each finding when it is made. Returns true if no check failed. Throws Error if the process dies.
bool verify_in_worker(const VerifyRequest& request, CapabilityProbe& probe, SupervisorSettings settings);

Handlers verify_handlers();

}  // namespace mgcompare
