#pragma once

// Whether exact rows kept their promise. Each trial that promises the weights of one device is compared, after each epoch,
// with the baseline of the same seed, variant, kind of device and global batch: the distance of the weights (estimated from
// sketches, results/weight_sketch.h), and the training loss. How far honest rows are apart depends on the experiment: rounding
// moves weights little at first, and more from epoch to epoch. A control (plan/controls.h) measures that; a trial may depart
// from the baseline by a multiple of it. This finds gross departures. Small ones are for `mgcompare verify`.

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "results/results_store.h"

namespace mgcompare {

// A trial may depart by this multiple of the control's largest departure so far ...
inline constexpr double kDepartureFactor = 10;
// ... plus this share of the norm of the baseline's weights, or of its loss.
inline constexpr double kDepartureOfWeights = 1e-3, kDepartureOfLoss = 1e-2;

enum class PromiseState { none, unchecked, kept, broken };  // none: the trial promises nothing, or has no result
std::string_view to_string(PromiseState state);  // "", "not checked", "kept", "broken"

struct PromiseCheck {
  PromiseState state = PromiseState::none;
  std::size_t epoch = 0;            // first that departs, from 1
  std::string what;                 // "weights" or "loss"
  double departure = 0, bound = 0;  // in that epoch; of weights relative to their norm, of the loss to the baseline's
};

// Whether the trial is done and promises the baseline's weights (plan/controls.h).
bool promises_baseline(const Row& row);

class PromiseChecks {
 public:
  PromiseChecks() = default;
  explicit PromiseChecks(const Run& run);  // which outlives this
  PromiseCheck of(const Row& row) const;

 private:
  struct Reference {
    std::map<std::uint64_t, const Row*> baselines;  // by seed
    std::vector<double> weights, loss;  // the control's largest departures up to each epoch; empty without a control
  };
  std::map<std::string, Reference> references_;  // by control_group()
};

}  // namespace mgcompare
