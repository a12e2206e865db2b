#pragma once

// Network on a CPU: matrix products by oneDNN, convolutions by the kernels in kernels.h (docs/performance/cpu.md explains
// why). A network is used by one thread at a time. Results are deterministic.

#include <memory>

#include "mgcompare/device.h"
#include "model/network.h"
#include "model/spec.h"

namespace mgcompare {

// Weights are initially zero, running variances one. Feeds must come from make_feed (feed.h). Throws Error if the CPU does
// not support `numerics`.
std::unique_ptr<Network> make_network(Device& device, const NetworkSpec& spec, const Numerics& numerics);

}  // namespace mgcompare
