#pragma once

// Predicts rows on several hosts from a run on one of them: T = work + exchange within a host + exchange between hosts. The work and the
// waiting are those of the row with as many devices on one host, each with the same share of a batch. Within a host the exchange is that of the
// row with as many devices as each host would have. Between hosts it is a link model with the row's own calls and bytes. It is not hidden behind
// computing, and it uses no processor time of the ranks, so a row that overlaps its exchange is faster, and one on a fast link slower.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reports/comparison.h"
#include "reports/link_model.h"
#include "reports/tables.h"

namespace mgcompare {

struct HostPrediction {
  const Cell* row = nullptr;            // on one host, with as many devices
  std::string problem;                  // why there is no prediction; empty: there is one
  double step = 0;                      // seconds
  double exchange = 0;                  // seconds of it between the hosts
  double speed_up = 0;                  // against one device at the same batch
  std::optional<double> measured;       // the same, of that row in another run
  std::string unmeasured;               // why that run has no figure for it; empty: there is one, or no such run
};

// One for each strategy and batch with a row whose number of devices `hosts` divides. Those of rows that exchange nothing are left out.
// `measured`: rows on several hosts; those of another config, of other data or marked ones are no measurement. Null: none are known.
std::vector<HostPrediction> predict_hosts(const Comparison& one_host, std::size_t hosts, const LinkModel& link, const Comparison* measured);

Table host_prediction_table(const std::vector<HostPrediction>& predictions, std::size_t hosts, const LinkModel& link);
// Sentences on the missing predictions and the missing measured figures, one for each reason.
std::vector<std::string> host_prediction_problems(const std::vector<HostPrediction>& predictions);
// The median and the largest error of predictions with a measured row; nothing without one.
std::optional<std::string> host_prediction_errors(const std::vector<HostPrediction>& predictions);

}  // namespace mgcompare
