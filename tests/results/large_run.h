#pragma once

// A run of 10,000 rows, or of the first ones of these, for tests and for scripts/bench --tool.

#include <string>
#include <vector>

#include "results/results_store.h"
#include "results/runs.h"
#include "results/sqlite.h"
#include "results/trial_rows.h"

namespace mgcompare {

inline constexpr std::size_t kLargeRows = 10'000;

// Ten strategies on one to eight devices with 25 batches, ten repeats each, twelve epochs.
inline std::vector<Trial> large_plan() {
  std::vector<Trial> plan;
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    for (std::size_t batch = 32; batch <= 800; batch += 32)
      for (const std::size_t devices : {1, 2, 4, 8})
        for (int strategy = 0; strategy < 10; ++strategy)
          plan.push_back(make_trial(static_cast<int>(plan.size()) + 1, strategy == 0 ? "alone" : "together " + std::to_string(strategy),
                                    devices, seed, batch));
  return plan;
}

inline Result large_result(const Trial& trial) {
  const auto n = static_cast<double>(trial.devices);
  // Repeats that differ by a few per cent.
  const double noise = 1 + 0.002 * static_cast<double>(trial.number * 7919 % 21);
  Result result = make_result(1000 * n * noise, 5 / n, 0.98);
  if (trial.strategy.name == "alone") result.traits["role"] = "baseline";
  result.epochs.resize(12, result.epochs[1]);
  result.ranks.resize(trial.devices, result.ranks[0]);
  RankPlacement placement{"cuda:1", {{"weights and gradients", "cuda:1", 8}}, {{"all_reduce", "the links between devices", 2, 6}}};
  result.placement.assign(trial.devices, placement);
  return result;
}

inline void make_large_run(const std::string& directory, std::size_t rows = kLargeRows) {
  std::vector<Trial> plan = large_plan();
  plan.erase(plan.begin() + static_cast<std::ptrdiff_t>(rows), plan.end());
  RunInfo info;
  info.name = "large";
  info.config_json = "{}";
  ResultsStore(directory).begin(info, plan);
  // One transaction; a commit for each trial, as in a real run, would take minutes.
  const Database database(directory + "/" + kResultsFile, Database::Mode::write);
  database.commit([&] {
    for (const Trial& trial : plan) finish_trial(database, trial.number, large_result(trial));
  });
}

}  // namespace mgcompare
