#pragma once

// The exchanges of marked steps, by the device's clock.

#include <vector>

#include "platform/device_timeline.h"
#include "results/exchange_call.h"

namespace mgcompare {

// Those of one round of marks, in the order of the calls on each stream. What waits for an exchange beside the main stream is the work behind
// the next mark of the main stream: a pass has no marks within.
std::vector<ExchangeCall> exchange_calls(const std::vector<PhaseEvent>& marks);

}  // namespace mgcompare
