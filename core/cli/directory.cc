#include "cli/directory.h"

#include <ctime>
#include <filesystem>
#include <system_error>

#include <fmt/chrono.h>
#include <fmt/core.h>

namespace mgcompare {

namespace fs = std::filesystem;

std::string new_run_directory(const std::string& slug) {
  const std::string base = fmt::format("{}/{}-{:%Y%m%d-%H%M%S}", kRunsFolder, slug, fmt::localtime(std::time(nullptr)));
  // Created at once, so that another run started in the same second gets the next name.
  std::error_code ignored;
  fs::create_directories(kRunsFolder, ignored);
  std::string directory = base;
  for (int i = 2; !fs::create_directory(directory, ignored) && fs::exists(directory); ++i)
    directory = fmt::format("{}-{}", base, i);
  return directory;
}

std::string prefix_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
}

std::string share_folder() {
  std::error_code error;
  const fs::path folder = fs::path(prefix_folder()) / "share" / "mgcompare";
  return fs::is_directory(folder, error) ? folder.string() : "";
}

}  // namespace mgcompare
