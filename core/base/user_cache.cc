#include "base/user_cache.h"

#include <cstdlib>

namespace mgcompare {
namespace {

std::string absolute_path(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && value[0] == '/' ? value : "";
}

}  // namespace

std::string user_cache() {
  if (const std::string cache = absolute_path("XDG_CACHE_HOME"); !cache.empty()) return cache + "/mgcompare";
  const std::string home = absolute_path("HOME");
  return home.empty() ? home : home + "/.cache/mgcompare";
}

}  // namespace mgcompare
