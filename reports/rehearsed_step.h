#pragma once

// The step of a row on more devices, from its rehearsal on one (plan/rehearsals.h) and the time of its exchanges on a link.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/comparison.h"
#include "reports/link_model.h"

namespace mgcompare {

// The training clock divided by the steps: the median of the repeats, as that of rehearsals, so that one slow repeat does not count.
double median_step(const Cell& cell);

// Of one row, by number of devices, all ranks and repeats; only those that are done, and of numbers on which each rank that was rehearsed ended
// once as it should. Results of older versions, and of runs that have not ended, may have one rank alone.
using Rehearsals = std::map<std::size_t, std::vector<const Row*>>;

// Those of the rows with the strategy, batch and kind of device of this one.
Rehearsals rehearsals_of(const Comparison& comparison, const Cell& like);

// One on each number of devices on which it did not end as it should.
std::map<std::size_t, const Row*> failed_rehearsals_of(const Comparison& comparison, const Cell& like);

// What a rank exchanges in one call.
struct Exchanged {
  std::string call;                 // "all_reduce"; empty: not known, in results of older versions, and taken for an all-reduce
  double bytes = 0;                 // sent by the rank
  double payload = 0;               // bytes of the whole vector
};

// The time of exchanges between devices of one kind. A call that was not timed is taken to last as long as an all-reduce in which a rank
// sends the whole vector, for a reduction or broadcast, or (n - 1) / n of it, for the others.
class ExchangeCost {
 public:
  // `link` replaces the calls that were timed before the run.
  ExchangeCost(const Run& run, DeviceKind kind, const std::optional<LinkModel>& link);
  // On as many devices as were timed, between the timed sizes; on others by a model that is fitted to all all-reduces, and by what the call took
  // in comparison with it on the most devices that were timed. Throws Error if none was timed and no link given.
  double seconds(std::size_t devices, const Exchanged& exchanged) const;
  std::optional<LinkModel> link() const { return link_; }

 private:
  using Times = std::map<std::size_t, std::vector<ExchangeTime>>;  // by devices, ascending sizes
  double all_reduce(std::size_t devices, double bytes) const;
  // As one that was not timed.
  double untimed(std::size_t devices, const Exchanged& exchanged) const;

  Times timed_;                     // all-reduces, by the bytes that a rank sends
  std::map<std::string, Times> others_;  // by call, and the bytes of the whole vector
  std::optional<LinkModel> link_;
};

// Seconds of a step: of each rehearsed rank the median of the repeats, and of these the longest, for which the others wait. An
// exchange begins when its data are ready and the one before has ended; what it lasts beyond the moment at which
// other work needs its result prolongs the step. So does waiting for the last rank, if the ranks exchange. Throws as ExchangeCost::seconds().
double rehearsed_step(const std::vector<const Row*>& rehearsals, const ExchangeCost& cost);

}  // namespace mgcompare
