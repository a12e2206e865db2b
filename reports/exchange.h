#pragma once

// What exchanges cost, as rows show them and as the machine's all-reduces by themselves do, and whether a row's exchange
// waits for its size or its count.

#include <limits>
#include <optional>
#include <vector>

#include "reports/comparison.h"
#include "reports/link_model.h"

namespace mgcompare {

// What rows that exchange say of the link: a step's bytes and the time that computing does not hide.
std::vector<ExchangeTime> exchange_times(const std::vector<const Cell*>& cells);

// Whether a row exchanges nothing of weight in any other way than by all-reduce.
bool only_reduces(const Cell& cell);

// The machine's all-reduces among devices of this kind, on fewer than `below` of them, timed before the first trial.
std::vector<ExchangeTime> bare_times(const Run& run, DeviceKind kind,
                                     std::size_t below = std::numeric_limits<std::size_t>::max());

// The time of one call of a row, of its mean size: what does not depend on the size, and what does.
struct CallTime {
  double bytes = 0;                 // sent by a rank
  double latency = 0, moving = 0;   // seconds
  bool is_bare = false;             // as the machine's all-reduces by themselves show it, not the rows of the run
};

// For a row that only reduces, from the machine's all-reduces. Else from rows that make the same calls over the same links
// in every step, of which one sends more than twice the bytes of another; absent where there are none.
std::optional<CallTime> call_time(const Comparison& comparison, const Cell& cell);

}  // namespace mgcompare
