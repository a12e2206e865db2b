#pragma once

// Wraps a strategy during a verification: records what the program does not see, and makes calls that the training must
// survive unchanged.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "mgcompare/strategy.h"

namespace mgcompare {

struct Disturbance {
  std::uint64_t seed = 1;
  std::size_t samples = 0;          // of an epoch
  std::size_t first_epoch = 0;      // of this training: not 0 if it is resumed
  // Calls settle() after some steps if the ranks are in lockstep, and twice at the end of an epoch, but not at all at the end
  // of epoch `unsettled`.
  bool settles = false;
  std::size_t unsettled = std::numeric_limits<std::size_t>::max();
  int altered_rank = -1;            // gets other samples than its own; -1: none
};

// Filled in during the training, each rank's part by its thread. Complete when the strategies are destroyed.
struct Observation {
  struct OfRank {
    std::vector<float> live;        // the replica's weights before the last settle()
    bool settles_alike = true;      // a second settle() returned the same bits
    std::size_t first_epoch = std::numeric_limits<std::size_t>::max();  // of its steps
    double processor_seconds = 0;   // of its thread
  };
  explicit Observation(std::size_t ranks) : ranks(ranks) {}
  std::vector<OfRank> ranks;
};

// The strategy of one rank. `observation` must outlive it.
std::unique_ptr<Strategy> observed(std::unique_ptr<Strategy> strategy, const Disturbance& disturbance,
                                   Observation& observation);

}  // namespace mgcompare
