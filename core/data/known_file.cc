#include "data/known_file.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>

#include "data/dataset.h"
#include "data/unpacker.h"

namespace mgcompare {
namespace {

// Whether two files, plain or packed, have the same bytes.
bool have_same_bytes(const std::string& one, const std::string& other) {
  const auto hash = [](const std::string& path) {
    Unpacker file(path);
    std::vector<std::uint8_t> bytes(1u << 20);
    while (file.read(bytes.data(), bytes.size()) == bytes.size()) {
    }
    return file.sha256();
  };
  return hash(one) == hash(other);
}

}  // namespace

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

std::optional<std::string> only_one(const std::string& folder, const std::vector<std::string>& names) {
  const std::vector<std::string> found = all_in(folder, names);
  if (found.empty()) return {};
  if (found.size() > 1 && (found.size() > 2 || found[0] != found[1] + ".gz" || !have_same_bytes(found[0], found[1])))
    throw DataError(fmt::format("{}: may be the file, and so may {}: leave one of them there", found[0], found[1]));
  return found[0];
}

std::string wrong_checksum(const std::string& found, const KnownFile& file, const std::string& set) {
  if (found == file.sha256) return "";
  return fmt::format("checksum {}... is not that of {}'s {} ({}...)", found.substr(0, 12), set, file.name, file.sha256.substr(0, 12));
}

}  // namespace mgcompare
