#pragma once

// The order of samples and the learning rate of each step. Both are independent of the strategy and of the number of ranks.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/graph_steps.h"
#include "train/epoch_orders.h"
#include "train/training_state.h"

namespace mgcompare {

class BatchScheduler {
 public:
  explicit BatchScheduler(TrainingState& state) : state_(state), orders_(state.data.train.samples, state.trial.seed) {}

  // Computes the order of this epoch in the background, if there is such an epoch. Called by rank 0.
  void draw_ahead(std::size_t epoch);
  // Waits until it is computed. Called by rank 0.
  void wait_for_order() { orders_.wait(); }
  // Makes the order of this epoch current. Called by rank 0 while no other rank uses this object.
  void take_order(std::size_t epoch);
  // Seconds that the last take_order() took, which includes waiting for an unfinished draw_ahead().
  double seconds_taking() const { return seconds_taking_; }
  // Passes the current order to the feed of the rank. Called by every rank.
  void set_order(std::size_t rank) const;
  // Lockstep: the rank's share of a step.
  Batch batch_at(std::size_t rank, std::size_t epoch, std::size_t step) const;
  // Passes the batches of the epoch to captured steps.
  void begin_epoch(GraphSteps& graph_steps, std::size_t rank, std::size_t epoch) const;
  // Free pace: the number of samples that a rank draws at once.
  std::size_t draw_size() const;
  // The learning rate at this sample of the epoch.
  double rate_at(std::size_t epoch, std::size_t sample) const;

 private:
  TrainingState& state_;
  EpochOrders orders_;
  Span<const std::uint32_t> order_;  // of the present epoch
  double seconds_taking_ = 0;
};

}  // namespace mgcompare
