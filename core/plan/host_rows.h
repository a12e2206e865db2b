#pragma once

// Which strategies run on several hosts.

#include <string>

#include "mgcompare/strategy.h"
#include "plan/trial.h"

namespace mgcompare {

// Why the trial cannot run on its hosts; empty if it can, or has one host.
std::string refused_hosts(const Trial& trial, const Traits& traits);

}  // namespace mgcompare
