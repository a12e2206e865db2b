#pragma once

// The strategies that come with the program: plugins that are no backends.

#include <string>
#include <vector>

#include "discovery/manifest.h"
#include "discovery/plugin_files.h"

namespace mgcompare::testing {

inline std::vector<PluginSummary> strategy_plugins() {
  std::vector<PluginSummary> found = find_plugins({});
  std::erase_if(found, [](const PluginSummary& plugin) { return is_backend(plugin.file); });
  return found;
}

}  // namespace mgcompare::testing
