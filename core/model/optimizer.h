#pragma once

// Optimisers for vectors in host memory; the CPU twin's devices use them too.

#include <cstdint>
#include <memory>
#include <vector>

#include "config.h"
#include "mgcompare/device.h"
#include "mgcompare/replica.h"

namespace mgcompare {

// An optimiser whose number of updates (calls of advance()) can be read and put back: for checkpoints.
class CountedOptimizer : public Optimizer {
 public:
  virtual std::uint64_t updates() const = 0;
  virtual void set_updates(std::uint64_t updates) = 0;
};

// The state lies in `memory`'s host-visible device memory, or in plain host memory where it is null. Every optimiser
// made here is a CountedOptimizer. Throws Error for an unknown kind.
std::unique_ptr<Optimizer> make_host_optimizer(const OptimizerConfig& config, const std::vector<Part>& parts,
                                               Device* memory);

// State vectors that an optimiser of this kind keeps.
int optimizer_states(const OptimizerConfig& config);

}  // namespace mgcompare
