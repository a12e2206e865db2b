#include "data/known_file.h"

#include <fmt/format.h>

#include <filesystem>

namespace mgcompare {

std::optional<std::string> find_in(const std::string& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (const char* ending : {".gz", ""}) {
      const std::filesystem::path path = std::filesystem::path(folder) / (name + ending);
      std::error_code ignored;
      if (std::filesystem::exists(path, ignored)) return path.string();
    }
  }
  return std::nullopt;
}

std::string wrong_checksum(const std::string& found, const KnownFile& file, const std::string& set) {
  if (found == file.sha256) return "";
  return fmt::format("checksum {}... is not that of {}'s {} ({}...)", found.substr(0, 12), set, file.name, file.sha256.substr(0, 12));
}

}  // namespace mgcompare
