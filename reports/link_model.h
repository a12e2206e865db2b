#pragma once

// A model of the cost of an exchange: seconds = messages * latency + bytes / bandwidth (Hockney, 1994). A ring sends 2 (n - 1)
// messages per rank. Up to two pieces by size, because libraries change their protocol with the size.

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
  std::string source;               // origin of the figures, a phrase
  double latency = 0;               // seconds per message
  double bandwidth = 0;             // bytes/s; infinite if the time does not depend on the size
  double break_bytes = 0;           // smallest size of the second piece; 0: one piece
  double large_latency = 0, large_bandwidth = 0;
  double error = 0;                 // largest relative error of the fit
  std::vector<std::size_t> devices; // numbers of devices in the fit

  double seconds(std::size_t devices, double bytes) const;
  // The latency part of seconds().
  double latency_seconds(std::size_t devices, double bytes) const;
};

// Least squares of the relative errors, with non-negative parameters. Uses two pieces if they at least halve the error. Throws
// Error if there is nothing to fit.
LinkModel fit_link(const std::vector<ExchangeTime>& times);

// The measured all-reduces on fewer than `below` devices. A rank sends 2 (n - 1) / n of the data.
std::vector<ExchangeTime> exchange_times(const LinkMeasurements& links, std::size_t below = std::numeric_limits<std::size_t>::max());

// "latency=5us,bandwidth=20GB/s", or the name of a preset. Throws Error, which shows the format.
LinkModel link_of(std::string_view text);

}  // namespace mgcompare
