#include "discovery/private_libraries.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "mgcompare/error.h"

namespace fs = std::filesystem;

namespace mgcompare {
namespace {

constexpr std::size_t kMostLibraries = 64;

bool is_of_the_system(const std::string& folder) {
  constexpr std::array<std::string_view, 4> kFolders = {"/usr/", "/lib/", "/lib64/", "/opt/"};
  return std::any_of(kFolders.begin(), kFolders.end(), [&](std::string_view of_system) { return (folder + "/").starts_with(of_system); });
}

// The folder of a run path that begins in the library's own one, or at the root.
std::string expanded(std::string folder, const std::string& library) {
  for (const std::string_view origin : {"$ORIGIN", "${ORIGIN}"})
    if (folder.starts_with(origin)) folder.replace(0, origin.size(), fs::path(library).parent_path().string());
  return fs::path(folder).lexically_normal().string();
}

// What the file needs; nothing if it cannot be read: whoever opens it says what is wrong with it.
NeededLibraries needs_of(const std::string& file) {
  try {
    return needed_libraries(read_plugin_bytes(file));
  } catch (const Error&) {
    return {};
  }
}

// Adds the libraries that the file needs, and theirs.
void add_needed(const std::string& file, const NeededLibraries& needed, std::set<std::string>& libraries) {
  for (const std::string& name : needed.names)
    for (const std::string& written : needed.folders) {
      const std::string folder = expanded(written, file);
      const std::string library = (fs::path(folder) / name).string();
      std::error_code ignored;
      if (is_of_the_system(folder) || !fs::is_regular_file(library, ignored)) continue;
      if (libraries.size() < kMostLibraries && libraries.insert(library).second) add_needed(library, needs_of(library), libraries);
      break;
    }
}

}  // namespace

std::set<std::string> private_libraries(const std::string& file) { return private_libraries(file, needs_of(file)); }

std::set<std::string> private_libraries(const std::string& file, const NeededLibraries& needed) {
  std::set<std::string> libraries;
  add_needed(file, needed, libraries);
  return libraries;
}

bool are_confused(const std::set<std::string>& some, const std::set<std::string>& others) {
  const auto are_alike = [](const std::string& one, const std::string& other) {
    std::error_code ignored;
    return fs::path(one).filename() == fs::path(other).filename() && !fs::equivalent(one, other, ignored);
  };
  return std::any_of(some.begin(), some.end(), [&](const std::string& one) {
    return std::any_of(others.begin(), others.end(), [&](const std::string& other) { return are_alike(one, other); });
  });
}

}  // namespace mgcompare
