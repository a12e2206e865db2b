#include "discovery/plugin_checksum.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/sha256.h"
#include "discovery/manifest.h"
#include "discovery/plugin_image.h"
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

// Adds the libraries that the file needs, and theirs.
void add_needed(const std::string& file, std::set<std::string>& libraries) {
  NeededLibraries needed;
  try {
    needed = needed_libraries(read_plugin_bytes(file));
  } catch (const Error&) {
    return;  // whoever opens the file says what is wrong with it
  }
  for (const std::string& name : needed.names)
    for (const std::string& written : needed.folders) {
      const std::string folder = expanded(written, file);
      const std::string library = (fs::path(folder) / name).string();
      std::error_code ignored;
      if (is_of_the_system(folder) || !fs::is_regular_file(library, ignored)) continue;
      if (libraries.size() < kMostLibraries && libraries.insert(library).second) add_needed(library, libraries);
      break;
    }
}

std::string sum_of_library(const std::string& file) {
  std::set<std::string> libraries;
  add_needed(file, libraries);
  std::string all = sha256_of_file(file);
  if (libraries.empty() || all.empty()) return all;
  for (const std::string& library : libraries) all += fs::path(library).filename().string() + ' ' + sha256_of_file(library);
  return sha256(all);
}

std::string sum_of_backend(const std::string& file) {
  const Manifest manifest = read_manifest(file);
  std::string all = sha256_of_file(file);
  for (const std::string& part : parts_of(manifest)) {
    const std::string sum = sha256_of_file(part);
    if (sum.empty()) return "";
    all += fs::path(part).filename().string() + ' ' + sum;
  }
  return sha256(all);
}

}  // namespace

std::string checksum_of_plugin(const std::string& file) {
  if (!is_backend(file)) return sum_of_library(file);
  try {
    return sum_of_backend(file);
  } catch (const Error&) {
    return "";
  }
}

}  // namespace mgcompare
