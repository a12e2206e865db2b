#pragma once

// The rows of a run put together: repeats of one row become a cell, cells are measured against the one-device baseline.
// Everything that a report says is taken from here; nothing here knows how it will look.

#include <optional>
#include <string>
#include <vector>

#include "reports/breakdown.h"
#include "reports/objective.h"
#include "reports/statistics.h"
#include "results/results_store.h"

namespace mgcompare {

// Rows that differ in nothing but seed and block.
struct Cell {
  std::string name;                 // row_name()
  std::string series;               // what charts call its strategy: "tower every 4, small rate"; plain text
  const Row* first = nullptr;       // of all repeats, by position
  std::vector<const Row*> done;     // by position
  std::vector<const Row*> failed;   // finished in any other way
  std::vector<const Row*> brackets; // done beside the blocks, by position: in no figure of the row
  std::size_t missing = 0;          // not finished
  bool many_models = false;         // N separate models: their accuracy is not that of one model
  bool is_baseline = false;         // one device, nothing exchanged
  bool is_ceiling = false;          // exchanges nothing: what cannot be beaten, and is no way to train one model
  bool is_exact = false;
  bool runs_freely = false;         // ranks do not keep step, and take different shares of the samples

  Spread accuracy, samples_per_second, seconds_per_epoch, seconds_training, bytes_per_step, step_seconds, updates;
  std::size_t reached_target = 0;   // repeats that did
  Spread seconds_to_target;         // of those repeats
  Spread device_seconds, device_seconds_to_target;
  Breakdown breakdown;
  // Of each repeat's windows (steadiness.h), where it has some.
  Spread window_spread, window_drift;
  bool is_unsteady() const;         // the windows of most repeats do not agree
  bool is_drifting() const;         // each of three repeats or more became faster, or each slower, by more than noise

  // The index of the cell this one is compared with: the baseline on one device of the same kind, with the same global
  // batch (strong scaling) or batch per device (weak). Absent where there is none, and where ranks share a device.
  std::optional<std::size_t> baseline;
  // samples/s over the baseline's, seed by seed where both have the seed; never clipped. Efficiency: that over devices.
  Spread speed_up, efficiency;
  // samples/s against the baseline's; all rows of the run share the risk of a wrong answer.
  Order order = Order::undecided;

  const TrialKey& trial() const { return first->trial; }
};

struct Comparison {
  const Run* run = nullptr;         // outlives this
  double target_accuracy = 0;       // 0: none
  std::vector<Cell> cells;          // strategies in the config's order, then devices, batch, variant
  Objective objective = Objective::time_to_accuracy;
  // One-model cells with results, best first by the objective; without a target that any repeat reached, time to
  // accuracy falls back to samples/s, and device-seconds to those of the whole training.
  std::vector<std::size_t> ranking;
  bool target_reached = false;      // by any repeat of the ranking
  std::size_t trials = 0, finished = 0, done = 0;
};

Comparison compare_rows(const Run& run, Objective objective = Objective::time_to_accuracy);
// The same rows by another objective.
Comparison ranked_by(Comparison comparison, Objective objective);

// The figure that the ranking goes by, of a cell and of one of its repeats.
struct Criterion {
  Spread Cell::* of_cell;
  double (*of_row)(const Row&);
  bool more_is_better;
};
Criterion criterion(const Comparison& comparison);

// one / other, seed by seed where both have the seed.
Spread ratio(const std::vector<const Row*>& one, const std::vector<const Row*>& other, double (*figure)(const Row&));

}  // namespace mgcompare
