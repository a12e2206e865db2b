#pragma once

// Optimisers for vectors in host memory; the CPU twin's devices use them too.

#include <cstdint>
#include <memory>
#include <vector>

#include "config/config.h"
#include "mgcompare/device.h"
#include "mgcompare/replica.h"

namespace mgcompare {

// Calls of advance().
struct UpdateCount {
  std::uint64_t made = 0;           // in all
  std::uint64_t forgotten = 0;      // of those, before the last reset()
  // What Adam's rule counts by.
  std::uint64_t since_reset() const { return made - forgotten; }
  bool operator==(const UpdateCount&) const = default;
};

// An optimiser whose count of updates can be read and put back: for checkpoints.
class CountedOptimizer : public Optimizer {
 public:
  virtual UpdateCount updates() const = 0;
  virtual void set_updates(const UpdateCount& updates) = 0;
};

// The state lies in `memory`'s host-visible device memory, or in plain host memory where it is null. Every optimiser
// made here is a CountedOptimizer. Throws Error for an unknown kind.
std::unique_ptr<Optimizer> make_host_optimizer(const OptimizerConfig& config, const std::vector<Part>& parts,
                                               Device* memory);

// State vectors that an optimiser of this kind keeps.
int optimizer_states(const OptimizerConfig& config);

}  // namespace mgcompare
