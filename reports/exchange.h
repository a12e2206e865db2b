#pragma once

// The cost of exchanges, from the rows of a run and from the all-reduces timed before it, and whether the exchange of a row is
// limited by bandwidth or latency.

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reports/comparison.h"
#include "reports/link_model.h"

namespace mgcompare {

// The exchanges of rows: bytes per step and exposed time per step.
std::vector<ExchangeTime> exchange_times(const std::vector<const Cell*>& cells);

// Group calls of a rank in a step, a mean; 1 if they were not counted. A row that exchanges every eighth step has 1/8.
double calls_per_step(const Cell& cell);

// Whether at least 99 % of the bytes that a row sends are sent by all-reduce.
bool only_reduces(const Cell& cell);

// All-reduces on fewer than `below` devices of this kind, timed before the first trial.
std::vector<ExchangeTime> bare_times(const Run& run, DeviceKind kind,
                                     std::size_t below = std::numeric_limits<std::size_t>::max());

// The time of one group call of a row at its mean size, split into latency and transfer.
struct CallTime {
  double bytes = 0;                 // sent by a rank
  double latency = 0, moving = 0;   // seconds
  bool is_bare = false;             // from the all-reduces before the run, not from its rows
};

// Those of all rows of a comparison, which outlives this.
class CallTimes {
 public:
  explicit CallTimes(const Comparison& comparison);
  // For rows that only all-reduce: from the all-reduces before the run. Otherwise from rows with the same calls over the same
  // links in every step, if their sizes differ by more than a factor of two; else absent.
  std::optional<CallTime> of(const Cell& cell) const;

 private:
  using Way = std::pair<DeviceKind, std::set<std::string>>;  // "all_reduce over the links between devices"
  std::map<DeviceKind, std::optional<LinkModel>> bare_;
  std::map<Way, std::optional<LinkModel>> fitted_;
};

}  // namespace mgcompare
