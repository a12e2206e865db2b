#pragma once

// The rows of a run, aggregated: repeats of one row become a cell, and cells are compared with the one-device baseline of their
// network. All reports use this; it does not depend on any format.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reports/breakdown.h"
#include "reports/marks.h"
#include "reports/objective.h"
#include "reports/statistics.h"
#include "results/results_store.h"

namespace mgcompare {

// Rows that differ only in seed and block.
struct Cell {
  std::string name;                 // row_name()
  std::string network;              // if the comparison has rows of several
  std::string series;               // name of its strategy in charts, "tower every 4, small rate"; plain text
  const Row* first = nullptr;       // of all repeats, by position
  std::vector<const Row*> done;     // by position
  std::vector<const Row*> failed;   // repeats that finished with another status than done
  std::vector<const Row*> brackets; // done, outside of the blocks, by position; in no figure of the row
  std::vector<const Row*> failed_extras;  // bracket runs and controls that finished with another status than done
  std::size_t missing = 0;          // not finished
  bool many_models = false;         // N separate models; accuracy is their mean
  bool is_baseline = false;         // one device, nothing exchanged
  bool is_ceiling = false;          // exchanges nothing: an upper limit of throughput, not a way to train one model
  bool is_exact = false;
  // An exact strategy on one rank, with a baseline: it trains what the baseline trains, so it is in no ranking. If it sends nothing, it also
  // does what the baseline does, and shows how far equal rows differ (A/A check).
  bool copies_baseline = false;
  std::vector<Mark> marks;          // each kind once, of the repeat in which it is worst
  PromiseCheck promise;             // of the repeat that departs first; kept if none departs, and this is known of at least one
  bool runs_freely = false;         // free pace: ranks may train different numbers of samples
  std::string framework;            // what trained it (framework.h)
  bool is_own = true;               // the program itself trained it, not a backend

  Spread accuracy, samples_per_second, seconds_per_epoch, seconds_training, bytes_per_step, step_seconds, updates;
  Spread train_accuracy;            // on the batches of the last epoch, before each update
  Spread seconds_total;             // total_seconds()
  std::size_t reached_target = 0;   // number of repeats that reached the target accuracy
  Spread seconds_to_target;         // of those repeats
  Spread device_seconds, device_seconds_to_target;
  Breakdown breakdown;
  // Of the windows of each repeat (steadiness.h).
  Spread window_spread, window_drift;
  bool is_unsteady() const;         // the windows of most repeats differ by more than 5 %
  bool is_drifting() const;         // at least three repeats, all of which became faster, or all slower, by more than noise

  // Index of the cell that this one is compared with: the baseline on one device of the same kind, with the same global
  // batch (strong scaling) or batch per device (weak scaling). Of a row of another framework: that framework's row on one device
  // with the most samples/s, among those that are not disqualified. Absent if there is none or ranks share a device.
  std::optional<std::size_t> baseline;
  // Index of the cell that would be the baseline, if it was not too short to measure.
  std::optional<std::size_t> short_baseline;
  // The baseline among the program's own rows, also for rows of other frameworks: what tells a change of the machine from one of
  // the framework.
  std::optional<std::size_t> own_baseline;
  // Speed-up: ratio of the samples/s to the baseline's, by seed if both have the seed; never clipped. Efficiency: speed-up /
  // devices. None if one of both is too short to measure.
  Spread speed_up, efficiency;
  // Of the samples/s against the baseline's, corrected for all rows of the run (row_order.h).
  Order order = Order::undecided;
  std::string doubt;                // why, if undecided
  bool is_doubted_by_copies = false;  // undecided by the A/A check only

  const TrialKey& trial() const { return first->trial; }
  bool is_marked(MarkKind kind) const { return mgcompare::is_marked(marks, kind); }
  bool is_disqualified() const { return mgcompare::is_disqualified(marks); }  // never the best of anything
};

struct Series;                      // of charts (charts/series.h)

// Whether the row is a rehearsal of a strategy that cannot be rehearsed. It is neither a failure nor counted: predictions say so.
bool is_refused_rehearsal(const Row& row);

struct Comparison {
  const Run* run = nullptr;         // outlives this
  std::string network;              // of all rows, if the run has several and this is about one of them
  std::string infrastructure;       // a short name of the run's machine, if a report has several runs
  // The looks of strategies in charts, if other comparisons of the report share them.
  std::shared_ptr<const std::vector<Series>> looks;
  double target_accuracy = 0;       // 0: none
  double price_per_device_hour = 0;  // 0: none
  std::vector<Cell> cells;          // networks and strategies in the config's order, then devices, batch, variant
  Objective objective = Objective::time_to_accuracy;
  // Cells that train one model, have results, are no copies of the baseline and not disqualified, best first by the objective. If no
  // repeat reached the target, time to accuracy falls back to samples/s, and device-seconds to those of the whole training.
  std::vector<std::size_t> ranking;
  bool has_frameworks() const;      // rows of more than one framework are done; the program itself counts as one
  bool target_reached = false;      // by at least one repeat in the ranking
  std::size_t trials = 0, finished = 0, done = 0;  // of the plan: extra runs, references, and rehearsals that are possible
  bool has_results() const { return done > rehearsals.size(); }  // a trial other than a rehearsal was completed
  std::size_t pending_rehearsals = 0;  // that have not finished: no answer needs them
  PromiseChecks promises;
  std::vector<const Row*> failed_references;  // that finished with another status than done (plan/controls.h)
  std::vector<const Row*> rehearsals, failed_rehearsals;  // done, and finished with another status (plan/rehearsals.h)
};

// All rows of a run, each against its own baseline. With several networks the ranking has no meaning.
Comparison compare_rows(const Run& run, Objective objective = Objective::time_to_accuracy);
// The rows of each network by themselves, in the config's order. At least one, also of a run without rows.
std::vector<Comparison> compare_networks(const Run& run, Objective objective = Objective::time_to_accuracy);
// The same rows, ranked by another objective.
Comparison ranked_by(Comparison comparison, Objective objective);

// The figure that the ranking uses, of a cell and of one repeat.
struct Criterion {
  Spread Cell::* of_cell;
  double (*of_row)(const Row&);
  bool more_is_better;
};
Criterion criterion(const Comparison& comparison);

// one / other, by seed if both have the seed.
Spread ratio(const std::vector<const Row*>& one, const std::vector<const Row*>& other, double (*figure)(const Row&));
// The same of two spreads, whose repeats are not paired. Empty if either is, or if the other reaches 0.
Spread ratio(const Spread& one, const Spread& other);

}  // namespace mgcompare
