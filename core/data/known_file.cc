#include "data/known_file.h"

#include <fmt/format.h>

#include <filesystem>

namespace mgcompare {

std::vector<std::string> all_in(const std::string& folder, const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    for (const char* ending : {".gz", ""}) {
      const std::filesystem::path path = std::filesystem::path(folder) / (name + ending);
      std::error_code ignored;
      if (std::filesystem::exists(path, ignored)) found.push_back(path.string());
    }
  }
  return found;
}

std::optional<std::string> find_in(const std::string& folder, const std::vector<std::string>& names) {
  const std::vector<std::string> found = all_in(folder, names);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

std::string wrong_checksum(const std::string& found, const KnownFile& file, const std::string& set) {
  if (found == file.sha256) return "";
  return fmt::format("checksum {}... is not that of {}'s {} ({}...)", found.substr(0, 12), set, file.name, file.sha256.substr(0, 12));
}

}  // namespace mgcompare
