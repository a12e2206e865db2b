#pragma once

// The rows that `verify` checks: strategies with options, not yet combined with devices and batches.

#include <string>
#include <vector>

#include "config/config.h"
#include "discovery/capabilities.h"

namespace mgcompare {

// The strategies of the config with their options, and every usable plugin with default options.
std::vector<StrategyConfig> rows_with_defaults(const Config& config, const std::vector<PluginSummary>& plugins);

// The rows that match a filter of `strategy` and `as`, as only() in plan.h; an empty filter matches all.
std::vector<StrategyConfig> only(const std::vector<StrategyConfig>& rows, const std::string& filter);

}  // namespace mgcompare
