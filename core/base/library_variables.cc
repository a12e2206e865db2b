#include "base/library_variables.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "base/text.h"

namespace mgcompare {
namespace {

constexpr std::string_view kPrefixes[] = {"OMP_",    "GOMP_",   "KMP_",  "MKL_",   "OPENBLAS_", "GOTO_", "DNNL_",
                                          "ONEDNN_", "MALLOC_", "CUDA_", "CUBLAS", "CUDNN_",    "NCCL_"};
constexpr std::string_view kNames[] = {"LD_PRELOAD", "GLIBC_TUNABLES", "NVIDIA_TF32_OVERRIDE"};
constexpr std::string_view kSecrets[] = {"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL"};

bool is_read_by_libraries(std::string_view name) {
  const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  if (std::any_of(std::begin(kSecrets), std::end(kSecrets), has)) return false;
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
         std::any_of(std::begin(kPrefixes), std::end(kPrefixes), [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

std::map<std::string, std::string> library_variables() {
  std::map<std::string, std::string> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    if (is_read_by_libraries(name)) found.emplace(name, plain(text.substr(std::min(text.size(), name.size() + 1))));
  }
  return found;
}

bool is_of_one_host(std::string_view name) {
  static const std::set<std::string_view> kNamesOfHosts = {"NCCL_HOSTID", "CUDA_VISIBLE_DEVICES", "LD_PRELOAD"};
  static constexpr std::string_view kPlaces[] = {"_HOME", "_PATH", "_ROOT", "_DIR", "_VERSION"};
  return kNamesOfHosts.contains(name) || std::any_of(std::begin(kPlaces), std::end(kPlaces), [&](std::string_view end) { return name.ends_with(end); });
}

bool changes_results(std::string_view name) {
  static const std::set<std::string_view> kNothing = {"NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS", "OMP_DISPLAY_ENV", "KMP_SETTINGS"};
  const bool names_a_place = is_of_one_host(name) && name != "LD_PRELOAD";
  return !names_a_place && !kNothing.contains(name) && !name.ends_with("_VERBOSE") && !name.starts_with("CUDA_CACHE_") && !name.starts_with("CUDNN_LOG");
}

std::string different_variable(const std::map<std::string, std::string>& one, const std::map<std::string, std::string>& other,
                               const std::string& where) {
  for (const auto& [name, value] : one) {
    if (!changes_results(name)) continue;
    const auto found = other.find(name);
    if (found == other.end()) return fmt::format("{}={}, which is not set {}", name, value, where);
    if (found->second != value) return fmt::format("{}={}, which is {} {}", name, value, found->second, where);
  }
  for (const auto& [name, value] : other)
    if (changes_results(name) && !one.contains(name)) return fmt::format("no {}, which is {} {}", name, value, where);
  return "";
}

}  // namespace mgcompare
