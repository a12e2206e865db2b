#pragma once

// Which samples come when, and at what learning rate: the same for every strategy and number of ranks.

#include <cstddef>
#include <cstdint>
#include <future>
#include <vector>

#include "runtime/graph_steps.h"
#include "train/training_state.h"

namespace mgcompare {

class BatchScheduler {
 public:
  explicit BatchScheduler(TrainingState& state) : state_(state) {}

  // Draws the order of this epoch on a thread of its own, where there is such an epoch. Rank 0 calls it.
  void draw_ahead(std::size_t epoch);
  // Makes it the order that set_order() gives to a rank. Rank 0 calls it while no other rank does anything here.
  void take_order(std::size_t epoch);
  // How long that took the last time: much where the order was not drawn yet.
  double seconds_taking() const { return seconds_taking_; }
  // Every rank calls it.
  void set_order(std::size_t rank) const;
  // Of lockstep pace: a rank's share of a step.
  Batch batch_at(std::size_t rank, std::size_t epoch, std::size_t step) const;
  // The same, told to the device that will make steps by itself.
  void begin_epoch(GraphSteps& recorded, std::size_t rank, std::size_t epoch) const;
  // Of free pace: samples that a rank draws at once.
  std::size_t draw_size() const;
  double rate_at(std::size_t epoch, std::size_t sample) const;

 private:
  TrainingState& state_;
  std::vector<std::uint32_t> order_;
  std::future<std::vector<std::uint32_t>> next_order_;
  double seconds_taking_ = 0;
};

}  // namespace mgcompare
