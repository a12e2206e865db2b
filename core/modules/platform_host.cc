#include "modules/platform_host.h"
#include "base/error_text.h"
#include "plan/trial.h"

#include <dlfcn.h>

#include <boost/dll/runtime_symbol_info.hpp>
#include <boost/dll/shared_library.hpp>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "mgcompare/error.h"
#include "modules/module_error.h"

namespace fs = std::filesystem;

namespace mgcompare {
namespace {

fs::path module_file(DeviceKind kind) {
  const fs::path program = fs::path(boost::dll::program_location().string()).parent_path();
  return program / ".." / "lib" / "mgcompare" / ("platform_" + std::string(to_string(kind)) + ".so");
}

// A back end and the library that contains it.
struct Module {
  boost::dll::shared_library library;
  Platform* platform = nullptr;
};

Module open_module(DeviceKind kind) {
  const fs::path file = module_file(kind);
  if (!fs::exists(file)) throw Error("this build has no module for " + std::string(to_string(kind)) + " devices");
  boost::dll::fs::error_code error;
  boost::dll::shared_library library(file.string(),
                                     boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local, error);
  if (error) {
    const char* const loader_error = dlerror();
    throw Error("the module for " + std::string(to_string(kind)) + " devices cannot be opened: " +
                (loader_error == nullptr ? error.message() : explain_module_error(loader_error, loader_finds)));
  }
  Platform* const platform = library.get<Platform*()>("mgcompare_platform")();
  return {std::move(library), platform};
}

}  // namespace

Platform& platform(DeviceKind kind) {
  // Never destroyed, so no library is closed: devices live until the process ends.
  static auto& opened = *new std::map<DeviceKind, Module>();
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  auto at = opened.find(kind);
  if (at == opened.end()) at = opened.emplace(kind, open_module(kind)).first;
  return *at->second.platform;
}

std::vector<PlatformSummary> find_platforms() {
  std::vector<PlatformSummary> found;
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::cuda}) {
    PlatformSummary summary;
    summary.kind = std::string(to_string(kind));
    try {
      Platform& module = platform(kind);
      // Before the devices: a module without devices reports its versions too.
      summary.facts = module.facts();
      for (const DeviceInfo& device : module.devices())
        summary.devices.push_back({summary.kind, device.index, device.name, device.memory, device.notes, device.id,
                                   device.problems, device.precisions});
    } catch (const std::exception& error) {
      summary.problem = with_memory_limit(error.what());
    }
    found.push_back(std::move(summary));
  }
  return found;
}

}  // namespace mgcompare
