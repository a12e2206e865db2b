#include "modules/platform_host.h"
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

Platform& open_module(DeviceKind kind) {
  const fs::path file = module_file(kind);
  if (!fs::exists(file)) throw Error("this build has no module for " + std::string(to_string(kind)) + " devices");
  boost::dll::fs::error_code error;
  boost::dll::shared_library library(file.string(),
                                     boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local, error);
  if (error) {
    const char* const said = dlerror();
    throw Error("the module for " + std::string(to_string(kind)) + " devices cannot be opened: " +
                (said == nullptr ? error.message() : explain_module_error(said, loader_finds)));
  }
  // Never closed: devices and their libraries live until the process ends.
  static auto& opened = *new std::vector<boost::dll::shared_library>();
  return *opened.emplace_back(std::move(library)).get<Platform*()>("mgcompare_platform")();
}

}  // namespace

Platform& platform(DeviceKind kind) {
  static std::map<DeviceKind, Platform*> opened;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  auto at = opened.find(kind);
  if (at == opened.end()) at = opened.emplace(kind, &open_module(kind)).first;
  return *at->second;
}

std::vector<PlatformSummary> find_platforms() {
  std::vector<PlatformSummary> found;
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::cuda}) {
    PlatformSummary summary;
    summary.kind = std::string(to_string(kind));
    try {
      Platform& module = platform(kind);
      // Also of a module that has no devices: which versions it found.
      summary.facts = module.facts();
      for (const DeviceInfo& device : module.devices())
        summary.devices.push_back({summary.kind, device.index, device.name, device.memory, device.notes, device.id,
                                   device.problems, device.precisions});
    } catch (const std::exception& error) {
      summary.problem = error.what();
    }
    found.push_back(std::move(summary));
  }
  return found;
}

}  // namespace mgcompare
