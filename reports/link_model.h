#pragma once

// What an exchange costs: seconds = calls * latency + bytes / bandwidth, in up to two pieces by size, because libraries
// change their protocol with it (Hockney's model, 1994; a ring sends 2 (n - 1) messages a rank).

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "results/link_measurements.h"

namespace mgcompare {

// One measured exchange, or the mean of many.
struct ExchangeTime {
  double bytes = 0;                 // sent by a rank
  std::size_t devices = 0;
  double seconds = 0;
};

struct LinkModel {
  std::string name;
  std::string source;               // where the figures come from: a phrase
  double latency = 0;               // seconds a message
  double bandwidth = 0;             // bytes/s; infinite where size does not matter
  double break_bytes = 0;           // from this size on the second piece holds; 0: one piece
  double large_latency = 0, large_bandwidth = 0;
  double error = 0;                 // the largest, as a share of what was measured
  std::vector<std::size_t> devices; // that it was fitted on

  double seconds(std::size_t devices, double bytes) const;
  // The same, in which messages wait, and in which bytes move.
  double latency_seconds(std::size_t devices, double bytes) const;
};

// Least squares of relative errors, neither figure below zero; the break that halves the error, where one does. Throws
// Error where there is nothing to fit.
LinkModel fit_link(const std::vector<ExchangeTime>& times);

// What the all-reduces of an examined machine say, over fewer than `below` devices: a rank sends 2 (n - 1) / n of the data.
std::vector<ExchangeTime> exchange_times(const LinkMeasurements& links, std::size_t below = std::numeric_limits<std::size_t>::max());

// "latency=5us,bandwidth=20GB/s", or the name of a preset. Throws Error with the form that it must have.
LinkModel link_of(std::string_view text);

}  // namespace mgcompare
