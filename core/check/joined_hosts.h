#pragma once

// Hosts as threads of one process, whose transports copy memory: to train as on several hosts where there is only one.

#include <cstddef>
#include <functional>

#include "platform/transport.h"

namespace mgcompare {

// Runs body(span) for each of `count` hosts, each on a thread of its own, and waits for all. An error on one host releases the others with
// Aborted. Rethrows the first error that is not Aborted.
void on_joined_hosts(std::size_t count, const std::function<void(const HostSpan&)>& body);

}  // namespace mgcompare
