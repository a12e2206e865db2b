#pragma once

// Trials with free-running ranks: synthetic schedules, figures over all ranks, and properties that hold for all
// options.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "check/reference.h"
#include "modules/strategy_options.h"
#include "strategy_plugins.h"
#include "training/fixture.h"

namespace mgcompare::testing {

using OptionValues = std::vector<std::pair<std::string, std::string>>;

inline std::vector<OptionConfig> options_of(const OptionValues& settings) {
  std::vector<OptionConfig> options;
  for (const auto& [key, value] : settings) options.push_back({key, value, false, {}});
  return options;
}

inline std::string text_of(const OptionValues& settings) {
  std::string text;
  for (const auto& [key, value] : settings) text += key + ": " + value + ", ";
  return text;
}

inline OptionValues with(OptionValues settings, const std::pair<std::string, std::string>& one_more) {
  settings.push_back(one_more);
  return settings;
}

inline bool says(const OptionValues& settings, const std::string& value) {
  return std::any_of(settings.begin(), settings.end(), [&](const auto& each) { return each.second == value; });
}

inline Trial free_trial(std::size_t ranks, const std::string& plugin, const OptionValues& settings = {}) {
  Trial trial = small_trial(ranks, plugin, options_of(settings));
  trial.config.measure.warm_up_steps = 0;
  return trial;
}

// Keys of the options that have problems.
inline std::vector<std::string> refused(const std::string& plugin, const OptionValues& settings, const Facts& facts) {
  StrategyOptions options(options_of(settings));
  make_strategy(file_of_plugin(plugin), options, facts);
  std::vector<std::string> keys;
  for (const OptionProblem& problem : options.problems()) keys.push_back(problem.key);
  return keys;
}

inline TrainingOutcome audited(const Trial& trial) {
  return run(trial, {}, [](TrainingRequest& request) { request.audit = true; });
}

// `per_update`: number of gradients whose mean an update applies.
inline void expect_all_applied(const TrainingOutcome& outcome, const std::string& what, double per_update = 1) {
  double gap = 0, size = 0;
  for (std::size_t i = 0; i < outcome.pushed.sum.size(); ++i) {
    gap = std::max(gap, std::abs(outcome.pushed.sum[i] - per_update * outcome.applied.sum[i]));
    size = std::max(size, std::abs(outcome.pushed.sum[i]));
  }
  EXPECT_GT(size, 0) << what;
  EXPECT_LT(gap, 1e-5 * size) << what;
}

inline void expect_each_sample_once(const TrainingOutcome& outcome, const std::string& what) {
  for (const std::uint32_t times : outcome.times_seen) ASSERT_EQ(times, 1u) << what;
}

// Records a free run and replays the recorded schedule.
inline void expect_replayable(Trial trial, const std::string& what) {
  trial.config.deterministic = false;
  const TrainingOutcome live = run(trial, {}, [](TrainingRequest& request) { request.record = true; });
  const TrainingOutcome again = run(trial, {}, [&](TrainingRequest& request) { request.replay = &live.record; });
  EXPECT_EQ(again.weights, live.weights) << what;
  EXPECT_EQ(again.result.updates, live.result.updates) << what;
}

// In virtual time: interrupted after a checkpoint at the end of an epoch, and resumed.
inline void expect_resumable(Trial trial, const std::string& what) {
  trial.config.epochs = 3;
  trial.config.checkpoint_epochs = 1;
  SCOPED_TRACE(what);
  expect_resumable(trial);
}

}  // namespace mgcompare::testing
