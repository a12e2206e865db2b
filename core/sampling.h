#pragma once

// Which samples come when, and at what learning rate: the same for every strategy and number of ranks.

#include <cstddef>
#include <cstdint>
#include <future>
#include <vector>

#include "recorded_steps.h"
#include "training_state.h"

namespace mgcompare {

class Sampling {
 public:
  explicit Sampling(TrainingState& state) : state_(state) {}

  // From now on the next epoch's order is drawn while one runs. Rank 0 calls it before this epoch.
  void run_ahead(std::size_t epoch);
  // Every rank calls it.
  void set_order(std::size_t rank, std::size_t epoch);
  // Of lockstep pace: a rank's share of a step.
  Batch batch_at(std::size_t rank, std::size_t epoch, std::size_t step) const;
  // The same, told to the device that will make steps by itself.
  void begin_epoch(RecordedSteps& recorded, std::size_t rank, std::size_t epoch) const;
  // Of free pace: samples that a rank draws at once.
  std::size_t draw_size() const;
  double rate_at(std::size_t epoch, std::size_t sample) const;

 private:
  void draw(std::size_t epoch);

  TrainingState& state_;
  std::vector<std::uint32_t> order_;
  std::future<std::vector<std::uint32_t>> next_order_;
  bool ahead_ = false;
};

}  // namespace mgcompare
