#pragma once

// Measures the links between hosts with the transport that training uses.

#include <vector>

#include "platform/transport.h"
#include "results/link_measurements.h"

namespace mgcompare {

// Every host of the span calls it, on one thread. One pair after another sends both ways, so that no two share a network. The result, on host 0, has
// every ordered pair; the other hosts return an empty list. Throws the errors of the transport.
std::vector<HostPairLink> measure_host_links(const HostSpan& hosts);

}  // namespace mgcompare
