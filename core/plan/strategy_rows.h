#pragma once

// Strategies with options, not yet combined with devices and batches: the rows that `verify` checks.

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/problem.h"
#include "discovery/capabilities.h"

namespace mgcompare {

// Why a strategy of the config cannot be used: no plugin has its name, or the only ones are refused. Nothing if it can.
std::optional<Problem> plugin_problem(const StrategyConfig& strategy, const std::vector<PluginSummary>& plugins);

// The strategies of the config with their options, and every usable plugin with default options.
std::vector<StrategyConfig> rows_with_defaults(const Config& config, const std::vector<PluginSummary>& plugins);

// The rows that match a filter of `strategy` and `as`, as only() in plan.h; an empty filter matches all.
std::vector<StrategyConfig> only(const std::vector<StrategyConfig>& rows, const std::string& filter);

}  // namespace mgcompare
