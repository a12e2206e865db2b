#include "data/folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "config/kinds.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool has_folder_of_a_set(const fs::path& folder) {
  const auto& names = kKindNames<DataSource>;
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return is_folder(folder / name); });
}

}  // namespace

FoundFolder find_folder(const DataPlaces& places, const std::string& path, const std::string& set,
                        const std::function<bool(const std::string&)>& has_files) {
  if (!path.empty()) return {path, "`data.path`"};
  struct Named {
    const std::string& folder;
    const char* how;
    bool may_be_for_others;
  };
  for (const auto& [folder, how, may_be_for_others] :
       {Named{places.given_folder, "--data", false}, Named{places.environment_folder, "--data or MGCOMPARE_DATA", true}}) {
    if (folder.empty()) continue;
    if (has_files(folder)) return {folder, how};
    if (const fs::path below = fs::path(folder) / set; is_folder(below)) return {below.string(), how};
    if (!may_be_for_others || !has_folder_of_a_set(folder)) return {folder, how};
  }
  if (!places.cache_folder.empty())
    if (const std::string cached = cache_of(places, set); has_files(cached)) return {cached, ""};
  return {};
}

void expect_no_file(const std::string& path, const std::string& files) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored))
    throw DataError(fmt::format("{}: this is a file, but `data.path` is the folder with {}: write `path: {}`", path, files, fs::path(path).parent_path().string()));
}

DataError explained(const DataError& error, const FoundFolder& folder) {
  return DataError(fmt::format("{} (the folder was given by {}; correct it or remove it)", error.what(), folder.how));
}

std::string cache_of(const DataPlaces& places, const std::string& set) {
  if (places.cache_folder.empty())
    throw DataMissing("no folder for downloads (neither XDG_CACHE_HOME nor HOME is an absolute path)");
  return (fs::path(places.cache_folder) / set).string();
}

void make_folder(const std::string& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) throw DataError(fmt::format("{}: cannot be created: {}", folder, failure.message()));
}

}  // namespace mgcompare
