#include "directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/core.h>

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRuns = "runs";
constexpr const char* kResultsFile = "results.sqlite";

[[noreturn]] void refuse(const std::string& directory, const std::string& why) {
  throw NotWritable(fmt::format("{}: results cannot be written there ({}); give a folder that can be with -o", directory,
                                why));
}

}  // namespace

std::string new_run_directory(const std::string& slug) {
  const std::string base = fmt::format("{}/{}-{:%Y%m%d-%H%M%S}", kRuns, slug, fmt::localtime(std::time(nullptr)));
  std::string directory = base;
  for (int i = 2; fs::exists(directory); ++i) directory = fmt::format("{}-{}", base, i);
  return directory;
}

void make_output_directory(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) refuse(directory, error.message());
  if (!fs::is_directory(directory)) refuse(directory, "not a folder");
  const std::string trial_file = directory + "/.writable";
  const int file = open(trial_file.c_str(), O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0) refuse(directory, std::strerror(errno));
  const bool written = write(file, "x", 1) == 1 && fsync(file) == 0;
  const int reason = errno;
  close(file);
  unlink(trial_file.c_str());
  if (!written) refuse(directory, std::strerror(reason));
}

std::vector<std::string> run_directories() {
  std::vector<std::pair<fs::file_time_type, std::string>> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(kRuns, ignored)) {
    const fs::path results = entry.path() / kResultsFile;
    if (fs::is_regular_file(results, ignored)) {
      found.emplace_back(fs::last_write_time(results, ignored), entry.path().string());
    }
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> directories;
  for (auto& [time, directory] : found) directories.push_back(std::move(directory));
  return directories;
}

std::string share_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = program.parent_path().parent_path() / "share" / "mgcompare";
  return fs::is_directory(folder, error) ? folder.string() : "";
}

}  // namespace mgcompare
