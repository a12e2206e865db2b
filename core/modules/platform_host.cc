#include "modules/platform_host.h"
#include "base/error_text.h"
#include "plan/trial.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "modules/module_file.h"

namespace mgcompare {
namespace {

// A back end and the library that contains it.
struct Module {
  boost::dll::shared_library library;
  Platform* platform = nullptr;
};

Module open_platform(DeviceKind kind) {
  const std::string name(to_string(kind));
  boost::dll::shared_library library = open_module("platform_" + name, name + " devices");
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
  if (at == opened.end()) at = opened.emplace(kind, open_platform(kind)).first;
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
