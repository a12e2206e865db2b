#pragma once

// Networks and variants of an experiment, combined: each version has rows of its own, which are compared with its own baseline.

#include <string>
#include <vector>

#include "config/config.h"

namespace mgcompare {

struct Version {
  Config config;                    // with one network and without variants
  std::string network;              // empty: the only network of the experiment
  std::string variant;              // empty: the config without a variant
};

// For each network the config without a variant, then each variant.
std::vector<Version> versions_of(const Config& config);

// The same without what no trial depends on: the price, how hosts are started, and the seeds of other repeats, which in the config of each trial
// would cost memory quadratically.
std::vector<Version> trained_versions(const Config& config);

// versions_of() without those for which `verify` would train the same network by the same update rule as for an earlier one: variants of learning
// rates, batches, devices or lengths.
std::vector<Version> versions_to_verify(const Config& config);

}  // namespace mgcompare
