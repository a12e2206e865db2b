#include "plan/strategy_rows.h"

#include <algorithm>

namespace mgcompare {

std::vector<StrategyConfig> rows_with_defaults(const Config& config, const std::vector<PluginSummary>& plugins) {
  std::vector<StrategyConfig> rows = config.strategies;
  for (const PluginSummary& plugin : plugins) {
    if (!plugin.problem.empty()) continue;
    const bool has_defaults = std::any_of(rows.begin(), rows.end(), [&](const StrategyConfig& row) {
      return row.name == plugin.name && row.options.empty();
    });
    if (has_defaults) continue;
    const bool is_taken = std::any_of(rows.begin(), rows.end(), [&](const StrategyConfig& row) { return row.label == plugin.name; });
    rows.push_back({plugin.name, is_taken ? plugin.name + " (defaults)" : plugin.name, {}, {}});
  }
  return rows;
}

}  // namespace mgcompare
