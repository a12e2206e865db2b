#pragma once

// Optimisers for vectors in a GPU's memory; one kernel updates a whole range.

#include <memory>
#include <vector>

#include "config/config.h"
#include "cuda/device.h"
#include "model/optimizer.h"

namespace mgcompare::cuda {

// Throws Error for an unknown kind.
std::unique_ptr<CountedOptimizer> make_optimizer(CudaDevice& device, const OptimizerConfig& config,
                                                 const std::vector<Part>& parts);

}  // namespace mgcompare::cuda
