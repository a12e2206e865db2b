#pragma once

// Synthetic runs with rows of other frameworks.

#include "results/runs.h"

namespace mgcompare {

// A row that the backend "torchlike" of the framework "Torchlike 2.1" trained; `label` tells its rows apart.
inline Row& add_foreign(RunMaker& maker, const std::string& label, std::size_t devices, std::uint64_t seed, Result result, const std::string& like,
                        std::size_t batch = 128) {
  result.framework = "Torchlike";
  result.framework_version = "2.1";
  result.versions = {{"cuda", "12.6"}, {"torchlike", "2.1.0+cu126"}};
  result.like = like;
  result.ranks.clear();
  for (EpochResult& epoch : result.epochs) {
    epoch.seconds_reported = epoch.seconds_training * 0.99;
    epoch.seconds_unclocked = 0.01;
  }
  Row& row = maker.add("torchlike", devices, seed, result, batch);
  row.trial.strategy.label = label;
  row.trial.plugin_file = "/plugins/torchlike/backend.json";
  return row;
}

// At `rate` samples/s with steps of batch 128.
inline Result paced(double rate, double accuracy = 0.98) {
  Result result = make_result(rate, 0, accuracy);
  result.step_seconds_median = 128 / rate;
  result.samples_evaluated = 10'000;
  return result;
}

// Here one device has 10,000 samples/s and two have 0.9 times as many; in the other framework one has 2000, and two 1.8 times as many.
inline RunMaker two_frameworks(std::size_t seeds = 3) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const double noise = 1 + 0.002 * static_cast<double>(seed);
    const double there = 0.98 + 0.001 * static_cast<double>(seed) + (seed % 2 == 0 ? -0.0004 : 0.0004);
    maker.baseline(seed, paced(10'000 * noise, 0.98 + 0.001 * static_cast<double>(seed)));
    maker.add("together", 2, seed, paced(9000 * noise, 0.98 + 0.001 * static_cast<double>(seed)));
    add_foreign(maker, "T eager", 1, seed, paced(2000 * noise, there), "alone");
    add_foreign(maker, "T slow", 1, seed, paced(1500 * noise), "");
    add_foreign(maker, "T pair", 2, seed, paced(3600 * noise, there), "together");
  }
  return maker;
}

}  // namespace mgcompare
