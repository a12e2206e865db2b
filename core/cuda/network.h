#pragma once

// The GPU twin's network: cuDNN for convolutions, cuBLASLt for dense layers, kernels of our own for the rest. One network
// belongs to one rank; the same calls give the same bits where deterministic algorithms were asked for.

#include <memory>

#include "cuda/device.h"
#include "model/network.h"
#include "model/spec.h"

namespace mgcompare::cuda {

// The weights are zero until they are written; the running variances are one. Feeds are CudaFeeds (feed.h) of the same
// device. Throws Error where the GPU cannot do what `numerics` asks for.
std::unique_ptr<Network> make_network(CudaDevice& device, const NetworkSpec& spec, const Numerics& numerics);

}  // namespace mgcompare::cuda
