#include "plan/strategy_rows.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "discovery/manifest.h"
#include "plan/trial.h"

namespace mgcompare {
namespace {

// Letters and digits in lower case.
std::string comparable(std::string_view text) {
  std::string kept;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) kept += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return kept;
}

// The strategy, or else the backend, whose description has the name as a word: what other programs call it.
std::string described_as(const std::string& name, const std::vector<PluginSummary>& plugins) {
  const PluginSummary* found = nullptr;
  for (const PluginSummary& plugin : plugins) {
    if (!plugin.problem.empty() || (found != nullptr && !is_backend(found->file))) continue;
    std::istringstream words(plugin.description);
    for (std::string word; words >> word;)
      if (comparable(word) == comparable(name) && (found == nullptr || !is_backend(plugin.file))) found = &plugin;
  }
  return found == nullptr ? "" : fmt::format("did you mean '{}', \"{}\"?", found->name, found->description);
}

}  // namespace

std::string plugin_path_problem(const std::string& path, const std::vector<PluginSummary>& plugins) {
  namespace fs = std::filesystem;
  if (!fs::exists(path)) return "does not exist";
  if (!fs::is_directory(path)) return "";
  const std::string inside = fs::weakly_canonical(path).string() + "/";
  const bool has_one = std::any_of(plugins.begin(), plugins.end(), [&](const PluginSummary& plugin) { return plugin.file.starts_with(inside); });
  return has_one ? "" : "has no plugin in it, no .so file and no backend.json";
}

std::optional<Problem> plugin_problem(const StrategyConfig& strategy, const std::vector<PluginSummary>& plugins) {
  std::vector<std::string> names;
  const PluginSummary* refused = nullptr;
  for (const PluginSummary& plugin : plugins) {
    if (plugin.problem.empty()) names.push_back(plugin.name);
    if (plugin.name != strategy.name) continue;
    if (plugin.problem.empty()) return std::nullopt;
    refused = &plugin;
  }
  std::string hint;
  if (refused == nullptr) hint = described_as(strategy.name, plugins);
  if (refused == nullptr && hint.empty()) hint = did_you_mean(strategy.name, names);
  return Problem{strategy.place,
                 refused != nullptr ? fmt::format("strategy '{}' cannot be used: {}", strategy.name, refused->problem)
                                    : fmt::format("there is no strategy '{}'", strategy.name),
                 hint,
                 fmt::format("strategies found: {}; `mgcompare plugins` lists the directories that were searched, to which `plugins:` of the "
                             "config adds", names.empty() ? "none" : listed(names)),
                 strategy.name.size(), refused != nullptr};
}

std::vector<Problem> plugin_problems(const std::vector<StrategyConfig>& strategies, const std::vector<PluginSummary>& plugins) {
  std::vector<Problem> problems;
  for (const StrategyConfig& strategy : strategies)
    if (auto problem = plugin_problem(strategy, plugins)) problems.push_back(std::move(*problem));
  return problems;
}

std::vector<Problem> trait_problems(const StrategyConfig& strategy, const Traits& traits, const RowFacts& row) {
  std::vector<Problem> problems;
  const auto add = [&](const std::string& text, const std::string& hint) {
    problems.push_back({strategy.place, fmt::format("strategy '{}' {}", strategy.name, text), hint, "", strategy.name.size()});
  };
  if (std::find(traits.devices.begin(), traits.devices.end(), row.device_kind) == traits.devices.end()) {
    std::vector<std::string> names;
    for (const DeviceKind kind : traits.devices) names.emplace_back(to_string(kind));
    add(fmt::format("does not run on {} devices, only on {}", to_string(row.device_kind), listed(names)), "remove it, or list devices of that kind");
  }
  if (traits.role == Traits::Role::baseline && !row.is_own_plugin)
    add("claims to be the baseline, to which all speed-ups and promises are relative; only strategies that come with the program can be it",
        "make it a contender, and verify it");
  if (traits.pace == Traits::Pace::free && row.batch_norm == BatchNormPolicy::sync)
    add("has no step common to all ranks, and `batch_norm: sync` needs one", "write `batch_norm: local`, or remove the strategy");
  return problems;
}

std::vector<StrategyConfig> rows_with_defaults(const Config& config, const std::vector<PluginSummary>& plugins) {
  std::vector<StrategyConfig> rows = config.strategies;
  for (const PluginSummary& plugin : plugins) {
    if (!plugin.problem.empty() || is_backend(plugin.file)) continue;
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
