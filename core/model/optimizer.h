#pragma once

// Optimisers for vectors in host memory, also used for CPU devices.

#include <cstdint>
#include <memory>
#include <vector>

#include "config/config.h"
#include "mgcompare/device.h"
#include "mgcompare/replica.h"

namespace mgcompare {

// Calls of advance().
struct UpdateCount {
  std::uint64_t made = 0;           // total
  std::uint64_t forgotten = 0;      // before the last reset()
  // The step count in Adam's bias correction.
  std::uint64_t since_reset() const { return made - forgotten; }
  bool operator==(const UpdateCount&) const = default;
};

// An optimiser whose update count can be saved and restored by checkpoints.
class CountedOptimizer : public Optimizer {
 public:
  virtual UpdateCount updates() const = 0;
  virtual void set_updates(const UpdateCount& updates) = 0;
};

// The state is allocated in `memory`, whose memory must be accessible to the host; in plain host memory if null. The result
// is a CountedOptimizer.
std::unique_ptr<Optimizer> make_host_optimizer(const OptimizerConfig& config, const std::vector<Part>& parts,
                                               Device* memory);

// Weight decay of a part.
double decay_of(const Part& part, const OptimizerConfig& config);

// Number of state vectors of this optimiser.
int optimizer_states(const OptimizerConfig& config);

}  // namespace mgcompare
