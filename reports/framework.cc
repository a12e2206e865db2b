#include "reports/framework.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "discovery/manifest.h"
#include "reports/text.h"

namespace mgcompare {
namespace {

// By the name of the framework, all its versions.
std::map<std::string, std::set<std::string>> versions_by_name(const Run& run) {
  std::map<std::string, std::set<std::string>> all;
  for (const Framework& framework : frameworks_of(run)) all[framework.name].insert(versions_text(framework));
  return all;
}

}  // namespace

bool is_own(const Row& row) { return !is_backend(row.trial.plugin_file); }

std::string framework_of(const Row& row) {
  if (is_own(row)) return kOwnFramework;
  const std::string name = plain(row.result.framework.empty() ? row.trial.strategy.name : row.result.framework);
  return name == kOwnFramework ? name + " (backend)" : name;  // no description may say so, but a file may
}

std::string framework_title(const Row& row) {
  const std::string version = is_own(row) ? "" : plain(row.result.framework_version);
  return framework_of(row) + (version.empty() ? "" : " " + version);
}

std::string like_of(const Row& row) {
  if (!is_own(row)) return plain(row.result.like);
  return has_trait(row.result, "promise", "approximate") && !row.trial.strategy.options.empty() ? "" : plain(row.trial.strategy.name);
}

std::vector<Framework> frameworks_of(const Run& run) {
  std::vector<Framework> all;
  for (const Row& row : run.rows) {
    if (is_own(row) || !row.is_done()) continue;
    Framework framework{framework_of(row), plain(row.result.framework_version), {}};
    for (const auto& [name, version] : row.result.versions) framework.versions.emplace_back(plain(name), plain(version));
    if (std::find(all.begin(), all.end(), framework) == all.end()) all.push_back(std::move(framework));
  }
  std::stable_sort(all.begin(), all.end(), [](const Framework& one, const Framework& other) {
    return std::pair(one.name, one.version) < std::pair(other.name, other.version);
  });
  return all;
}

std::string versions_text(const Framework& framework) {
  std::vector<std::string> parts;
  for (const auto& [name, version] : framework.versions) parts.push_back(fmt::format("{} {}", name, version));
  const std::string all = fmt::format("{}", fmt::join(parts, ", "));
  if (framework.version.empty()) return all.empty() ? "version not given" : all;
  return all.empty() ? framework.version : fmt::format("{} ({})", framework.version, all);
}

std::vector<std::string> differing_frameworks(const Run& one, const Run& other) {
  std::map<std::string, std::set<std::string>> before = versions_by_name(one), after = versions_by_name(other);
  std::vector<std::string> all;
  for (const auto& [name, versions] : before)
    if (const auto found = after.find(name); found != after.end() && found->second != versions)
      all.push_back(fmt::format("{}: {} and {}", name, fmt::join(versions, "; "), fmt::join(found->second, "; ")));
  return all;
}

}  // namespace mgcompare
