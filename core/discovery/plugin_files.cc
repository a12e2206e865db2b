#include "discovery/plugin_files.h"
#include "base/text.h"

#include <algorithm>
#include <boost/dll/library_info.hpp>
#include <boost/dll/runtime_symbol_info.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

namespace fs = std::filesystem;

namespace mgcompare {
namespace {

constexpr char kMark[] = "mgcompare-plugin;";
// The name in the string table of a file's dynamic symbols.
constexpr std::string_view kSymbolEntry("\0mgcompare_plugin\0", 18);
constexpr std::uintmax_t kLargestFile = 256u << 20;

std::string read_bytes(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error("cannot be read");
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// Text from the file, for messages.
std::string printable(std::string_view text) { return plain(text).substr(0, 200); }

struct Claim {
  std::string contract, name, description;
};

// The record is one string literal in the file. The mark alone also occurs in programs that search for it.
std::vector<Claim> claims_in(const std::string& bytes) {
  std::vector<Claim> claims;
  for (std::size_t at = bytes.find(kMark); at != std::string::npos; at = bytes.find(kMark, at + 1)) {
    const std::size_t begin = at + sizeof(kMark) - 1;
    const std::size_t end = bytes.find('\0', begin);
    if (end == std::string::npos || end - begin > 4096) continue;
    const std::string text = bytes.substr(begin, end - begin);
    const std::size_t first = text.find(';');
    const std::size_t second = first == std::string::npos ? first : text.find(';', first + 1);
    if (second == std::string::npos || first == 0 || second == first + 1) continue;
    claims.push_back({printable(text.substr(0, first)), printable(text.substr(first + 1, second - first - 1)),
                      printable(text.substr(second + 1))});
  }
  return claims;
}

// Throws if the file's tables cannot be read. Boost.DLL lists symbols of the table that `strip` removes, so the name is
// searched in the strings of the dynamic symbols, where it is enclosed by zeros.
bool exports_the_record(const std::string& file, const std::string& bytes) {
  boost::dll::library_info(file).sections();
  return bytes.find(kSymbolEntry) != std::string::npos;
}

fs::path program_folder() { return fs::path(boost::dll::program_location().string()).parent_path(); }

void add_folder(std::vector<std::string>& folders, const fs::path& folder) {
  std::error_code ignored;
  const std::string canonical = fs::weakly_canonical(folder, ignored).string();
  const std::string name = canonical.empty() ? folder.string() : canonical;
  if (!name.empty() && std::find(folders.begin(), folders.end(), name) == folders.end()) folders.push_back(name);
}

}  // namespace

std::string program_contract() { return MGCOMPARE_CONTRACT; }

std::vector<std::string> plugin_folders(const std::vector<std::string>& extra) {
  std::vector<std::string> folders;
  add_folder(folders, program_folder() / ".." / "lib" / "mgcompare" / "plugins");
  if (const char* path = std::getenv("MGCOMPARE_PLUGIN_PATH"); path != nullptr) {
    std::string rest = path;
    for (std::size_t colon = 0; !rest.empty(); rest = colon == std::string::npos ? "" : rest.substr(colon + 1)) {
      colon = rest.find(':');
      add_folder(folders, rest.substr(0, colon));
    }
  }
  const char* data = std::getenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  if (data != nullptr && data[0] == '/') add_folder(folders, fs::path(data) / "mgcompare" / "plugins");
  else if (home != nullptr && home[0] == '/') add_folder(folders, fs::path(home) / ".local/share/mgcompare/plugins");
  for (const std::string& folder : extra) add_folder(folders, folder);
  return folders;
}

PluginSummary inspect_plugin(const std::string& file) {
  PluginSummary summary;
  summary.file = file;
  try {
    std::error_code error;
    if (!fs::exists(file, error)) throw Error("does not exist");
    if (!fs::is_regular_file(file, error)) throw Error("is not a regular file");
    if (fs::file_size(file, error) > kLargestFile) throw Error("is larger than 256 MiB, the limit for plugins");
    const std::string bytes = read_bytes(file);
    if (bytes.compare(0, 4, "\177ELF") != 0) throw Error("is not a shared library");
    bool exported = false;
    try {
      exported = exports_the_record(file, bytes);
    } catch (const std::exception&) {
      throw Error("is damaged: its table of symbols cannot be read; build it again");
    }
    if (!exported) throw Error("is a shared library but not a plugin: it does not export mgcompare_plugin; close its source with MGCOMPARE_STRATEGY");
    const std::vector<Claim> claims = claims_in(bytes);
    if (claims.empty()) throw Error("exports mgcompare_plugin without a contract; close its source with MGCOMPARE_STRATEGY");
    summary.name = claims[0].name;
    summary.description = claims[0].description;
    if (!is_strategy_name(summary.name))
      throw Error("calls its strategy '" + summary.name + "', which no config can name; use letters, digits, _ and -");
    for (const Claim& claim : claims)
      if (claim.contract != program_contract())
        throw Error("was built for another version; build it again against this one\n    built for       " + claim.contract +
                    "\n    this program is " + program_contract());
  } catch (const Error& error) {
    summary.problem = file + " " + error.what();
  } catch (const std::exception& error) {
    summary.problem = file + " cannot be inspected: " + printable(error.what());
  }
  return summary;
}

std::vector<PluginSummary> find_plugins(const std::vector<std::string>& extra) {
  std::vector<PluginSummary> found;
  std::map<std::string, std::string> taken;
  for (const std::string& folder : plugin_folders(extra)) {
    std::vector<std::string> files;
    std::error_code error;
    if (fs::is_regular_file(folder, error)) files.push_back(folder);
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
      if (entry.path().extension() == ".so") files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) {
      PluginSummary plugin = inspect_plugin(file);
      if (plugin.problem.empty()) {
        const auto [first, added] = taken.emplace(plugin.name, file);
        if (!added) plugin.problem = file + " is ignored: the name '" + plugin.name + "' is taken by " + first->second;
      }
      found.push_back(std::move(plugin));
    }
  }
  return found;
}

}  // namespace mgcompare
