#pragma once

// Strategies with options, not yet combined with devices and batches: the rows that `verify` checks.

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/problem.h"
#include "discovery/capabilities.h"
#include "mgcompare/strategy.h"

namespace mgcompare {

// What is wrong with a file or folder of `plugins:`; empty if it has plugins.
std::string plugin_path_problem(const std::string& path, const std::vector<PluginSummary>& plugins);

// Why a strategy of the config cannot be used: no plugin has its name, or the only ones are refused. Nothing if it can.
std::optional<Problem> plugin_problem(const StrategyConfig& strategy, const std::vector<PluginSummary>& plugins);

// The same for all strategies of a config.
std::vector<Problem> plugin_problems(const std::vector<StrategyConfig>& strategies, const std::vector<PluginSummary>& plugins);

// What a row is, besides its strategy.
struct RowFacts {
  DeviceKind device_kind = DeviceKind::cpu;
  BatchNormPolicy batch_norm = BatchNormPolicy::local;
  bool is_own_plugin = false;       // it comes with the program
};

// Why a strategy with these traits cannot be in such a row: it does not run on the kind of device, has no step common to all
// ranks for `batch_norm: sync`, or claims to be the baseline and does not come with the program.
std::vector<Problem> trait_problems(const StrategyConfig& strategy, const Traits& traits, const RowFacts& row);

// The strategies of the config with their options, and every usable plugin with default options. Backends only if the config lists
// them: they may need what is not installed.
std::vector<StrategyConfig> rows_with_defaults(const Config& config, const std::vector<PluginSummary>& plugins);

// The rows that match a filter of `strategy`, `as` and `model`, as only() in plan.h; an empty filter matches all.
std::vector<StrategyConfig> only(const std::vector<StrategyConfig>& rows, const std::string& filter);
// The networks of the config that match such a filter.
std::vector<ModelConfig> only_networks(const Config& config, const std::string& filter);

}  // namespace mgcompare
