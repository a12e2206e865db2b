#pragma once

// All shipped strategies: the rows of configs/strategies.yaml with their options, and each plugin with its defaults.
// Tests over all of them cover a new plugin without a change.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "config/config.h"
#include "discovery/plugin_files.h"
#include "modules/plugin_host.h"
#include "strategy_plugins.h"
#include "training/fixture.h"

namespace mgcompare {
// How GoogleTest names a row.
inline void PrintTo(const StrategyConfig& row, std::ostream* out) { *out << row.label; }
}  // namespace mgcompare

namespace mgcompare::testing {

inline std::vector<StrategyConfig> every_row() {
  std::vector<StrategyConfig> rows = read_config(MGCOMPARE_SOURCE_DIR "/configs/strategies.yaml").strategies;
  for (const PluginSummary& plugin : strategy_plugins()) {
    const bool as_it_comes = std::any_of(rows.begin(), rows.end(), [&](const auto& row) {
      return row.name == plugin.name && row.options.empty();
    });
    if (!as_it_comes) rows.push_back({plugin.name, plugin.name + " as it comes", {}, {}});
  }
  return rows;
}

// For GoogleTest: letters, digits and underscores only.
inline std::string name_of(const ::testing::TestParamInfo<StrategyConfig>& info) {
  std::string name = info.param.label;
  std::replace_if(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

// A small trial of this row.
inline Trial trial_of(const StrategyConfig& row, std::size_t ranks) {
  Trial trial = small_trial(ranks, row.name, row.options);
  trial.strategy = row;
  return trial;
}

// An option as written in a config.
inline OptionConfig option(const std::string& key, const std::string& value) { return {key, value, false, {}}; }

}  // namespace mgcompare::testing
