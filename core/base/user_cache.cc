#include "base/user_cache.h"

#include "base/environment_variable.h"

namespace mgcompare {
namespace {

std::string absolute_path(const char* variable) {
  const std::string value = environment_variable(variable);
  return value.starts_with('/') ? value : "";
}

}  // namespace

std::string user_cache() {
  if (const std::string cache = absolute_path("XDG_CACHE_HOME"); !cache.empty()) return cache + "/mgcompare";
  const std::string home = absolute_path("HOME");
  return home.empty() ? home : home + "/.cache/mgcompare";
}

}  // namespace mgcompare
