#pragma once

// Finds plugins by listing folders and checks them by reading their bytes; opens nothing, so it is safe in any process.

#include <string>
#include <vector>

#include "discovery/capabilities.h"

namespace mgcompare {

// What this program was built for: the text that a plugin must carry.
std::string program_contract();

// The folders (and files) that are searched, in order: beside the program, MGCOMPARE_PLUGIN_PATH, the user's, `extra`.
std::vector<std::string> plugin_folders(const std::vector<std::string>& extra);

// Every strategy_*.so and every other .so of the folders that claims to be a plugin. Reads bytes, opens nothing. A file
// that is refused is in the list with the reason; of two plugins of one name the second is refused.
std::vector<PluginSummary> find_plugins(const std::vector<std::string>& extra);

// One file, whatever it is. Regular files up to 256 MiB only.
PluginSummary inspect_plugin(const std::string& file);

}  // namespace mgcompare
