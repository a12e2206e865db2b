#pragma once

// A run of three finished trials in a results file, for tests that change the file.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/results_store.h"
#include "results/runs.h"

namespace mgcompare {

inline RunInfo info() {
  RunInfo info = RunMaker().run.info;
  info.config_json = nlohmann::json(small_config()).dump();
  return info;
}

inline std::vector<Trial> plan() {
  std::vector<Trial> trials = {make_trial(1, "alone", 1, 1), make_trial(2, "together", 2, 1), make_trial(3, "apart", 2, 1)};
  for (Trial& trial : trials) trial.plugin_sha256 = trial.strategy.name;
  return trials;
}

inline void make_run(const std::string& directory) {
  ResultsStore results(directory);
  results.begin(info(), plan());
  for (const Trial& trial : plan()) {
    Result result = make_result(1000, 8, 0.985);
    result.windows = {{30, 3840, 0.5}};
    result.metrics = {{{"staleness", {.mean = 1.5}}}};
    results.start(trial);
    results.add(trial, result);
  }
}

}  // namespace mgcompare
