#pragma once

// Network on a CPU: matrix products by oneDNN, convolutions by the kernels in kernels.h (docs/performance/cpu.md explains
// why). A network is used by one thread at a time. Results are deterministic.

#include <cstddef>
#include <memory>

#include "mgcompare/device.h"
#include "model/network.h"
#include "model/spec.h"

namespace mgcompare {

// What a part of the samples (layer.h) should have at most in a tensor, so that it is in the cache when the next layer reads it.
constexpr std::size_t kPartBytes = std::size_t{1} << 20;

// Weights are initially zero, running variances one. Feeds must come from make_feed (feed.h). Throws Error if the CPU does
// not support `numerics`. Results do not depend on `part_bytes`.
std::unique_ptr<Network> make_network(Device& device, const NetworkSpec& spec, const Numerics& numerics, std::size_t part_bytes = kPartBytes);

}  // namespace mgcompare
