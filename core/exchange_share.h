#pragma once

// Where a recorded step's seconds of exchange go: to moving data, to waiting for other ranks, or beside computing.

#include <vector>

#include "platform.h"

namespace mgcompare {

struct ExchangeShare {
  double exchange = 0;    // exposed: the rank did nothing else
  double waiting = 0;     // exposed: until the last rank came
  double overlapped = 0;  // beside the rank's own work
};

// A rank each. An exchange ends everywhere at once and cannot begin before the last rank comes, so on that rank it takes
// what it takes, and on another what is more than that is waiting.
std::vector<ExchangeShare> split_exchanges(const std::vector<Recorder::ExchangeRecord>& of_ranks);

}  // namespace mgcompare
