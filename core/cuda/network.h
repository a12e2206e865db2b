#pragma once

// Network on a GPU: convolutions by cuDNN, dense layers by cuBLASLt, everything else by the kernels of this folder. A network
// belongs to one rank. Results are deterministic if numerics.deterministic is set.

#include <memory>

#include "cuda/device.h"
#include "model/network.h"
#include "model/spec.h"

namespace mgcompare::cuda {

// Weights are initially zero, running variances one. Feeds must be CudaFeeds (feed.h) of the same device. Throws Error if the
// GPU does not support `numerics`.
std::unique_ptr<Network> make_network(CudaDevice& device, const NetworkSpec& spec, const Numerics& numerics);

}  // namespace mgcompare::cuda
