#pragma once

// How fast a link must be for several devices to pay, by rehearsals (rehearsed_step.h).

#include <optional>
#include <string>
#include <vector>

#include "reports/prediction.h"
#include "reports/tables.h"

namespace mgcompare {

struct LinkNeed {
  std::string series;
  DeviceKind device_kind = DeviceKind::cpu;
  double batch = 0;                 // as a config names it
  std::size_t devices = 0;          // the fewest that were rehearsed
  double latency = 0;               // seconds per message that is assumed
  // Bytes/s from which on they are faster than one. 0: over any link; none: not even over one of infinite bandwidth.
  std::optional<double> bandwidth;
  double most = 0;                  // speed-up with infinite bandwidth
};

// One for each trusted prediction from rehearsals of rows that exchange something. The latency is that of its link.
std::vector<LinkNeed> link_needs(const Comparison& comparison, const std::vector<Prediction>& predictions);
Table link_need_table(const std::vector<LinkNeed>& needs);

// Sentences on the global batch from which on the fewest rehearsed devices are faster than one, where the predictions of a strategy show it.
std::vector<std::string> predicted_break_even(const std::vector<Prediction>& predictions);

}  // namespace mgcompare
