#include "plan/strategy_rows.h"

#include <algorithm>

#include <fmt/format.h>

namespace mgcompare {

std::optional<Problem> plugin_problem(const StrategyConfig& strategy, const std::vector<PluginSummary>& plugins) {
  std::vector<std::string> names;
  const PluginSummary* refused = nullptr;
  for (const PluginSummary& plugin : plugins) {
    if (plugin.problem.empty()) names.push_back(plugin.name);
    if (plugin.name != strategy.name) continue;
    if (plugin.problem.empty()) return std::nullopt;
    refused = &plugin;
  }
  return Problem{strategy.place,
                 refused != nullptr ? fmt::format("strategy '{}' cannot be used: {}", strategy.name, refused->problem)
                                    : fmt::format("there is no strategy '{}'", strategy.name),
                 refused != nullptr ? "" : did_you_mean(strategy.name, names),
                 fmt::format("strategies found: {}; `mgcompare plugins` lists the directories that were searched, to which `plugins:` of the "
                             "config adds", names.empty() ? "none" : listed(names)),
                 strategy.name.size(), refused != nullptr};
}

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
