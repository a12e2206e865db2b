#pragma once

// The plugins that the program finds without being told where, and those of them that are no backends.

#include <stdexcept>
#include <string>
#include <vector>

#include "discovery/manifest.h"
#include "discovery/plugin_files.h"

namespace mgcompare::testing {

// Searched for once in a process: that reads each file.
inline const std::vector<PluginSummary>& found_plugins() {
  static const std::vector<PluginSummary> found = find_plugins({});
  return found;
}

// Throws std::runtime_error if there is none of this name.
inline std::string file_of_plugin(const std::string& name) {
  for (const PluginSummary& plugin : found_plugins())
    if (plugin.name == name && plugin.problem.empty()) return plugin.file;
  throw std::runtime_error("there is no plugin named " + name);
}

inline std::vector<PluginSummary> strategy_plugins() {
  std::vector<PluginSummary> found = found_plugins();
  std::erase_if(found, [](const PluginSummary& plugin) { return is_backend(plugin.file); });
  return found;
}

}  // namespace mgcompare::testing
