#pragma once

// The step of a row on more devices, from its rehearsal on one (plan/rehearsals.h) and the time of its exchanges on a link.

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "reports/comparison.h"
#include "reports/link_model.h"

namespace mgcompare {

// Of one row, by number of devices, all repeats; only those that are done.
using Rehearsals = std::map<std::size_t, std::vector<const Row*>>;

// Those of the rows with the strategy, batch and kind of device of this one.
Rehearsals rehearsals_of(const Comparison& comparison, const Cell& like);

// One of that row that did not end as it should; null if there is none.
const Row* failed_rehearsal(const Comparison& comparison, const Cell& like);

// The time of an all-reduce between devices of one kind. Other exchanges are taken to be as fast as an all-reduce that sends as much.
class ExchangeCost {
 public:
  // `link` replaces the all-reduces that were timed before the run.
  ExchangeCost(const Run& run, DeviceKind kind, const std::optional<LinkModel>& link);
  // Seconds of one in which a rank sends so many bytes. On as many devices as were timed, between the timed sizes; on others by a model that is
  // fitted to all of them. Throws Error if none was timed and no link given.
  double seconds(std::size_t devices, double bytes) const;
  std::optional<LinkModel> link() const { return link_; }

 private:
  std::map<std::size_t, std::vector<ExchangeTime>> timed_;  // by devices, ascending sizes
  std::optional<LinkModel> link_;
};

// Seconds of a step, the median of the repeats. An exchange begins when its data are ready and the one before has ended; what it lasts beyond the moment at which
// other work needs its result prolongs the step. Throws as ExchangeCost::seconds().
double rehearsed_step(const std::vector<const Row*>& rehearsals, const ExchangeCost& cost);

}  // namespace mgcompare
