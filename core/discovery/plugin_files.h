#pragma once

// Finds plugin files, which are shared libraries of strategies and manifests of backends, and checks them by reading their bytes. No
// plugin code runs, so this is safe in any process.

#include <string>
#include <vector>

#include "discovery/capabilities.h"

namespace mgcompare {

// The contract of this program: a plugin must contain the same text.
std::string program_contract();

// Folders and files that are searched, in order: next to the program, MGCOMPARE_PLUGIN_PATH, the user's data folder, `extra`.
std::vector<std::string> plugin_folders(const std::vector<std::string>& extra);

// One sentence for each folder of MGCOMPARE_PLUGIN_PATH that does not exist.
std::vector<std::string> missing_plugin_folders();

// All .so files of plugin_folders(extra), and all manifests of backends (manifest.h) in them and in folders below them. Those of the first folder are
// the program's own. A refused file is listed with the reason. Of two plugins with the same name the second is refused, and so are all in a folder
// that every user can write to.
std::vector<PluginSummary> find_plugins(const std::vector<std::string>& extra);

// Inspects one file of any kind; plugin_image.h says what is read. Refuses files that every user can write to or replace. A
// refused file whose record cannot be read is named after the file.
PluginSummary inspect_plugin(const std::string& file);

}  // namespace mgcompare
