#include "cli/builds.h"

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <tuple>

#include <fmt/core.h>

#include "base/sha256.h"
#include "cli/directory.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

// This process keeps its own file open, also if another one has taken its name; workers run it too.
constexpr char kProgram[] = "/proc/self/exe";

std::string module_folder() { return prefix_folder() + "/lib/mgcompare"; }

std::string sum_of(const std::string& file) {
  using State = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  static std::map<std::string, std::pair<State, std::string>> known;
  struct stat facts {};
  if (stat(file.c_str(), &facts) != 0) return "";
  const State state = {facts.st_dev,          facts.st_ino,          facts.st_size,        facts.st_mtim.tv_sec,
                       facts.st_mtim.tv_nsec, facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec};
  auto& [seen, sum] = known[file];
  if (sum.empty() || seen != state) {
    seen = state;
    sum = sha256_of_file(file);
  }
  return sum;
}

}  // namespace

std::map<std::string, std::string> current_builds() {
  std::map<std::string, std::string> builds = {{"mgcompare", sum_of(kProgram)}};
  for (const char* module : {"platform_cpu.so", "platform_cuda.so"})
    if (std::string sum = sum_of(module_folder() + "/" + module); !sum.empty()) builds[module] = std::move(sum);
  return builds;
}

std::string build_change(const std::map<std::string, std::string>& builds) {
  const std::map<std::string, std::string> now = current_builds();
  for (const auto& [file, sum] : builds) {
    const auto found = now.find(file);
    if (found == now.end() || found->second != sum)
      return fmt::format("{}/{} was replaced or removed since the run began: results of two builds are not mixed; run again in another "
                         "directory", module_folder(), file);
  }
  return "";
}

}  // namespace mgcompare
