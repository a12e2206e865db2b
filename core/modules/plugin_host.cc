#include "modules/plugin_host.h"
#include "base/error_text.h"
#include "base/settings.h"
#include "base/text.h"

#include <dlfcn.h>

#include <boost/dll/shared_library.hpp>
#include <map>
#include <mutex>

#include "discovery/plugin_files.h"
#include "modules/loaded_libraries.h"

namespace mgcompare {
namespace {

const Plugin& opened_plugin(const std::string& file) {
  // Never destroyed, so no plugin is unloaded: objects that it made may still refer to its code.
  static auto& opened = *new std::map<std::string, boost::dll::shared_library>();
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  auto at = opened.find(file);
  if (at == opened.end()) {
    const PluginSummary summary = inspect_plugin(file);
    if (!summary.problem.empty()) throw UnusablePlugin(summary.problem);
    expect_own_libraries(file);
    const LibraryWatch watch;
    boost::dll::fs::error_code error;
    boost::dll::shared_library library(
        file, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local, error);
    reset_arithmetic();
    if (error) {
      const char* const loader_error = dlerror();
      std::string reason = loader_error == nullptr ? error.message() : loader_error;
      if (reason.starts_with(file + ": ")) reason.erase(0, file.size() + 2);
      throw UnusablePlugin(plain(file) + " cannot be opened: " + with_memory_limit(plain(reason)));
    }
    at = opened.emplace(file, std::move(library)).first;
  }
  return at->second.get<const Plugin>("mgcompare_plugin");
}

}  // namespace

void open_plugin(const std::string& file) { opened_plugin(file); }

std::unique_ptr<Strategy> make_strategy(const std::string& file, Options& options, const Facts& facts) {
  return std::unique_ptr<Strategy>(opened_plugin(file).make(options, facts));
}

}  // namespace mgcompare
