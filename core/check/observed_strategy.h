#pragma once

// Wraps a strategy during a verification: records what the program does not see, and makes calls that the training must
// survive unchanged.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "check/alteration.h"
#include "check/buffer_watch.h"
#include "check/even_steps.h"
#include "check/marked_samples.h"
#include "data/dataset.h"
#include "mgcompare/strategy.h"

namespace mgcompare {

// What an epoch leaves behind: what settle() returned, and the statistics of batch normalisation.
struct SettledModel {
  std::vector<float> weights, buffers;
  std::map<std::size_t, std::vector<float>> within;  // weights that settle() returned after some steps, by their number in the epoch
};

struct Disturbance {
  std::uint64_t seed = 1;
  std::size_t first_epoch = 0;      // of this training: not 0 if it is resumed
  // Calls settle() after some steps if the ranks are in lockstep, and twice at the end of an epoch, but not at all at the end
  // of epoch `unsettled`.
  bool settles = false;
  std::size_t unsettled = std::numeric_limits<std::size_t>::max();
  std::optional<Alteration> alteration;
  const Split* samples = nullptr;   // of the training, in the order of `seed`; with an alteration or a blank batch
  // All samples of the second step of the second epoch are this one, in lockstep.
  std::optional<std::uint32_t> blank = {};
  const MarkedSamples* marks = nullptr;  // which each rank trains, at free pace; null: no training with them
  bool keeps_weights = false;       // all that settle() returns on rank 0, also after the steps at which `settles` calls it, with the buffers
  // What settle() should return after each epoch and after steps, on all ranks if they have one model, otherwise on rank 0; and how far it may differ.
  // Null: not known.
  const std::vector<SettledModel>* settled = nullptr;
  double limit = 0;
};

// Filled in during the training, each rank's part by its thread. Complete when the strategies are destroyed.
struct Observation {
  // The end of an epoch; hashes of vectors, because there can be many.
  struct Epoch {
    std::size_t number = 0;
    std::size_t live = 0;           // of the replica's weights before settle()
    std::size_t settled = 0;        // of what settle() returned; 0: it was not called
    std::vector<float> weights;     // what it returned, if that is kept or departs from Disturbance::settled; otherwise empty
    std::vector<float> buffers;     // of the replica, on rank 0 if settle() was called; otherwise empty
    std::vector<std::uint32_t> seen;  // RankReplica::seen()
    std::uint64_t only_passed = 0;  // samples that passed forward without a backward pass
  };
  struct OfRank {
    std::vector<float> live;        // the replica's weights before the last settle()
    std::vector<Epoch> epochs;
    bool settles_alike = true;      // a second settle() returned the same bits
    bool keeps_buffers = true;      // no settle() changed the replica's buffers
    bool was_altered = false;       // it got a sample that differs from its own
    std::size_t first_epoch = std::numeric_limits<std::size_t>::max();  // of its steps
    std::size_t steps = 0;          // that it made
    std::uint64_t samples_before_steps = 0;  // of backward passes in start()
    double bytes = 0;               // that it sent in them
    std::map<std::pair<std::size_t, std::size_t>, double> sent;  // bytes by epoch and step, in lockstep
    // What settle() returned after steps, by epoch and step, if that is kept or departs from Disturbance::settled.
    std::map<std::pair<std::size_t, std::size_t>, std::vector<float>> within;
    std::vector<std::size_t> marked;  // steps with a learning rate that is not 0, by part of the marked samples
    double processor_seconds = 0;   // of its thread
  };
  explicit Observation(std::size_t ranks) : ranks(ranks) {}
  // `more`: of the same training, resumed in lockstep.
  void append(Observation more);
  std::vector<OfRank> ranks;
  std::unique_ptr<BufferWatch> buffers;  // null: not watched
  std::unique_ptr<EvenSteps> even;  // null: ranks run as they do
};

// The strategy of one rank. `observation` must outlive it.
std::unique_ptr<Strategy> observed(std::unique_ptr<Strategy> strategy, const Disturbance& disturbance,
                                   Observation& observation);

}  // namespace mgcompare
