#include "discovery/plugin_files.h"

#include <algorithm>
#include <boost/dll/runtime_symbol_info.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "base/text.h"
#include "discovery/file_writers.h"
#include "discovery/manifest.h"
#include "discovery/plugin_image.h"
#include "discovery/private_libraries.h"
#include "mgcompare/error.h"

namespace fs = std::filesystem;

namespace mgcompare {
namespace {

constexpr char kPathVariable[] = "MGCOMPARE_PLUGIN_PATH";

// "strategy_NAME.so" and "NAME/backend.json" -> "NAME": the name that a file without a readable record probably has.
std::string name_by_file(const std::string& file) {
  std::string name = is_backend(file) ? fs::absolute(file).parent_path().filename().string() : fs::path(file).stem().string();
  if (name.starts_with("strategy_")) name.erase(0, 9);
  return is_strategy_name(name) ? name : "";
}

// Fills name and description. Throws Error, the rest of a sentence about the file, if the plugin is refused.
void inspect(PluginSummary& summary) {
  if (is_backend(summary.file)) {
    const Manifest manifest = read_manifest(summary.file);
    summary.name = manifest.name;
    summary.description = manifest.description;
    return;
  }
  const std::string bytes = read_plugin_bytes(summary.file);
  check_library(bytes);
  std::string_view rest = bytes;
  PluginRecord record;
  for (bool is_first = true; next_record(rest, record); is_first = false) {
    if (is_first) {
      summary.name = record.name;
      summary.description = record.description;
      if (!is_strategy_name(record.name))
        throw Error("calls its strategy '" + record.name + "', which no config can name; use letters, digits, _ and -");
    }
    if (record.contract != program_contract())
      throw Error("was built for another version; build it again against this one\n    built for       " + record.contract +
                  "\n    this program is " + program_contract());
  }
  if (summary.name.empty())
    throw Error("exports mgcompare_plugin without a contract; close its source with MGCOMPARE_STRATEGY");
  check_writers(summary.file);
  for (const std::string& library : private_libraries(summary.file, needed_libraries(bytes))) {
    try {
      check_writers(library);
    } catch (const Error& wrong) {
      throw Error("needs the library " + plain(library) + ", which " + wrong.what());
    }
  }
}

fs::path program_folder() { return fs::path(boost::dll::program_location().string()).parent_path(); }

void add_folder(std::vector<std::string>& folders, const fs::path& folder) {
  std::error_code ignored;
  const std::string canonical = fs::weakly_canonical(folder, ignored).string();
  const std::string name = canonical.empty() ? folder.string() : canonical;
  if (!name.empty() && std::find(folders.begin(), folders.end(), name) == folders.end()) folders.push_back(name);
}

std::vector<std::string> folders_of_variable() {
  std::vector<std::string> folders;
  const char* const path = std::getenv(kPathVariable);
  std::istringstream rest(path == nullptr ? "" : path);
  for (std::string folder; std::getline(rest, folder, ':');)
    if (!folder.empty()) folders.push_back(folder);
  return folders;
}

}  // namespace

std::string program_contract() { return MGCOMPARE_CONTRACT; }

std::vector<std::string> plugin_folders(const std::vector<std::string>& extra) {
  std::vector<std::string> folders;
  add_folder(folders, program_folder() / ".." / "lib" / "mgcompare" / "plugins");
  for (const std::string& folder : folders_of_variable()) add_folder(folders, folder);
  const char* data = std::getenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  if (data != nullptr && data[0] == '/') add_folder(folders, fs::path(data) / "mgcompare" / "plugins");
  else if (home != nullptr && home[0] == '/') add_folder(folders, fs::path(home) / ".local/share/mgcompare/plugins");
  for (const std::string& folder : extra) add_folder(folders, folder);
  return folders;
}

std::vector<std::string> missing_plugin_folders() {
  std::vector<std::string> missing;
  for (const std::string& folder : folders_of_variable()) {
    std::error_code ignored;
    if (!fs::exists(folder, ignored))
      missing.push_back(std::string(kPathVariable) + " names " + plain(folder) + ", which does not exist; correct it, or remove it");
  }
  return missing;
}

PluginSummary inspect_plugin(const std::string& file) {
  PluginSummary summary;
  summary.file = file;
  try {
    inspect(summary);
  } catch (const Error& error) {
    summary.problem = plain(file) + " " + error.what();
  } catch (const std::exception& error) {
    summary.problem = plain(file) + " cannot be inspected: " + plain(error.what());
  }
  if (summary.name.empty()) summary.name = name_by_file(file);
  return summary;
}

namespace {

// The plugins of one folder, with the backends in folders below it; or one file.
std::vector<PluginSummary> plugins_in(const std::string& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error)) return {inspect_plugin(folder)};
  std::vector<std::string> files;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->path().extension() == ".so" || at->path().filename() == kManifestName) files.push_back(at->path().string());
    else if (fs::exists(at->path() / kManifestName, ignored)) files.push_back((at->path() / kManifestName).string());
  }
  std::sort(files.begin(), files.end());
  std::vector<PluginSummary> found;
  for (const std::string& file : files) {
    PluginSummary plugin = inspect_plugin(file);
    // Even with the sticky bit: another user could add a plugin here.
    if (plugin.problem.empty() && is_writable_by_all(folder))
      plugin.problem = plain(file) + " is not used, because every user of this machine can add plugins to its folder; run: "
                       "chmod o-w " + plain(folder);
    found.push_back(std::move(plugin));
  }
  return found;
}

}  // namespace

std::vector<PluginSummary> find_plugins(const std::vector<std::string>& extra) {
  std::vector<PluginSummary> found;
  std::map<std::string, std::string> taken;
  const std::vector<std::string> folders = plugin_folders(extra);
  for (const std::string& folder : folders) {
    for (PluginSummary& plugin : plugins_in(folder)) {
      plugin.is_own = folder == folders.front();
      if (plugin.problem.empty()) {
        const auto [first, added] = taken.emplace(plugin.name, plain(plugin.file));
        if (!added)
          plugin.problem = plain(plugin.file) + " is ignored: the name '" + plugin.name + "' is taken by " + first->second;
      }
      found.push_back(std::move(plugin));
    }
  }
  return found;
}

}  // namespace mgcompare
