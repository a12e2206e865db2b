#pragma once

// The CPU twin's network: oneDNN for matrix products, kernels of our own for convolutions (docs/performance/cpu.md says why). One
// network belongs to one thread at a time; several run at once on threads of their own. The same calls give the same bits.

#include <memory>

#include "mgcompare/device.h"
#include "model/network.h"
#include "model/spec.h"

namespace mgcompare {

// The weights are zero until they are written; the running variances are one. Feeds must come from make_feed (feed.h).
// Throws Error where the CPU cannot do what `numerics` asks for.
std::unique_ptr<Network> make_network(Device& device, const NetworkSpec& spec, const Numerics& numerics);

}  // namespace mgcompare
