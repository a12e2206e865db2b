#pragma once

// When a step makes an exchange, and when it needs the result: how much of the exchange can be hidden behind other work of the device.

#include <string>

namespace mgcompare {

// Seconds since the start of the first step.
struct ExchangeCall {
  double bytes = 0;                 // sent by this rank
  double begin = 0;                 // its data are ready
  double join = 0;                  // other work waits for it from here on; `begin` if nothing overlaps it
  double after = 0;                 // seconds of work that follows it, also beside the other work, such as an update of its part
  std::string call = {};            // "all_reduce"; empty: not known, in results of older versions
  double payload = 0;               // bytes of the whole vector
};

}  // namespace mgcompare
