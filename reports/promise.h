#pragma once

// Whether exact rows kept their promise. Each trial that promises the weights of one device is compared, after each epoch,
// with the baseline of the same seed, variant, kind of device and global batch, or with a reference (plan/controls.h): the
// distances of the weights and of the running statistics of batch normalisation (estimated from sketches,
// results/weight_sketch.h), and the training loss.
//
// A control (plan/controls.h) and reruns of the baseline (plan/baseline_reruns.h), which can differ on GPUs, measure how far rounding alone moves
// them. It grows during a training, and an honest trial may be an epoch ahead of the control: it may depart by a multiple of what the control departs
// one epoch later, plus a floor. In a smooth network distances are small until they have grown. Where an input near a kink of relu, or a near-tie
// of max_pool, falls to the other side, or an optimiser divides gradients that are nearly 0 by their size, honest trainings part, in one order
// of summation at once and in another never, and end with weights as far apart as those of different data. Then only the loss tells. Rounding
// decides a training in which the loss of the control departs by more than the floor, or the baseline's loss rises again by more: that epoch and
// later ones are not judged. A departure that is not far beyond its bound, or of a trial whose own loss rises so, counts only if most repeats of
// the row depart.
// Evaluations within an epoch are judged by the trial's own departures at the ends of this epoch and the one before: weights that depart much
// farther in between are not those of the training.
// This finds gross departures. Small ones are for `mgcompare verify`.
// docs/methodology.md has measurements.

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "results/results_store.h"

namespace mgcompare {

// A trial may depart by this multiple of the control's largest departure one epoch later ...
inline constexpr double kDepartureFactor = 4;
// ... plus this share of the norm of the baseline's weights or statistics, or of its loss in the first epoch. Weights are smooth until the
// control's depart by kGrownDeparture.
inline constexpr double kDepartureOfSmoothWeights = 1e-3, kDepartureOfWeights = 0.5, kDepartureOfLoss = 0.05;
inline constexpr double kGrownDeparture = 0.01;
// Behind the last epoch, a control grows as in it, from this departure of its weights at the beginning of a training on, and by this factor at most.
inline constexpr double kFirstDeparture = 1e-6, kMostGrowth = 30;
// Up to this multiple of the bound, a departure of one repeat alone may be of rounding.
inline constexpr double kDoubtfulFactor = 4.0 / 3;
// Within an epoch it may depart by this multiple of its own departure at the ends, plus the share of smooth weights. Distances are
// estimated, each with an error of up to 45 %.
inline constexpr double kDepartureFactorWithin = 8;

// none: the trial promises nothing, or has no result. kept: in all epochs that can be judged, at least one.
enum class PromiseState { none, unchecked, kept, broken };
std::string_view to_string(PromiseState state);  // "", "not checked", "kept", "broken"

struct PromiseCheck {
  PromiseState state = PromiseState::none;
  std::size_t epoch = 0;            // first that departs, from 1
  std::string what;                 // "weights", "weights within the epoch", "statistics" or "loss"; of an unchecked one, why
  // In that epoch: of weights and statistics relative to their norm, of the loss relative to the baseline's in the first epoch.
  double departure = 0, bound = 0;
  bool is_doubtful = false;         // it departs, but by little, or its own loss rises again in some epoch
};

// Whether the row is the one-device baseline or a reference.
bool is_baseline_row(const Row& row);
// Whether the trial is done and promises the baseline's weights (plan/controls.h).
bool promises_baseline(const Row& row);

class PromiseChecks {
 public:
  PromiseChecks() = default;
  explicit PromiseChecks(const Run& run);  // which outlives this
  PromiseCheck of(const Row& row) const;

 private:
  struct Departure {
    double weights = 0, statistics = 0, loss = 0;
  };
  struct Reference {
    std::map<std::uint64_t, const Row*> baselines;  // by seed
    std::vector<Departure> control; // the largest up to each epoch, of controls and reruns; empty without a control
    // Of the control after the next epoch; of the last one, an estimate.
    Departure one_later(std::size_t epoch) const;
  };
  // Of the repeats of a row.
  struct Repeats {
    std::size_t judged = 0, broken = 0;
  };
  void add_rerun(const Row& row);
  // By itself, whatever other repeats do.
  PromiseCheck check(const Row& row) const;


  std::map<std::string, Reference> references_;  // by control_group()
  std::map<std::string, Repeats> repeats_;       // by row_name()
};

}  // namespace mgcompare
