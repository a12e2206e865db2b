#include "plan/numerics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "config/problem.h"
#include "plan/trial.h"

namespace mgcompare {
namespace {

// The first device that does not support a precision; null if all do or are unknown.
const DeviceSummary* unable(const std::vector<PlatformSummary>& platforms, DeviceKind kind, std::size_t devices,
                            Precision precision) {
  for (const PlatformSummary& platform : platforms) {
    if (platform.kind != to_string(kind)) continue;
    for (std::size_t at = 0; at < std::min(devices, platform.devices.size()); ++at) {
      const std::vector<std::string>& able = platform.devices[at].precisions;
      if (!able.empty() && std::find(able.begin(), able.end(), to_string(precision)) == able.end()) return &platform.devices[at];
    }
  }
  return nullptr;
}

const DeviceSummary* unable_by_default(const Config& config, const std::vector<PlatformSummary>& platforms,
                                       DeviceKind kind) {
  return config.precision == Precision::automatic ? unable(platforms, kind, SIZE_MAX, precision_of(config, kind)) : nullptr;
}

}  // namespace

std::string refused_numerics(const Config& config, const std::vector<PlatformSummary>& platforms, DeviceKind kind,
                             std::size_t devices) {
  if (kind == DeviceKind::cpu && config.kernels == KernelChoice::library)
    return "kernels library needs a GPU; on CPUs there is one set of kernels";
  if (config.precision == Precision::automatic) return "";
  if (kind == DeviceKind::cpu && config.precision != Precision::fp32)
    return fmt::format("precision {} needs a GPU; CPUs support fp32", to_string(config.precision));
  const DeviceSummary* const device = unable(platforms, kind, devices, config.precision);
  if (device == nullptr) return "";
  return fmt::format("precision {} is not available on {}:{} ({}), which supports {}", to_string(config.precision), device->kind,
                     device->index, device->name, listed(device->precisions));
}

Config with_precision(Config config, const std::vector<PlatformSummary>& platforms, DeviceKind kind) {
  if (unable_by_default(config, platforms, kind) != nullptr) config.precision = Precision::fp32;
  return config;
}

std::string changed_precision(const Config& config, const std::vector<PlatformSummary>& platforms, DeviceKind kind) {
  const DeviceSummary* const device = unable_by_default(config, platforms, kind);
  if (device == nullptr) return "";
  return fmt::format("{} devices compute in fp32, because {}:{} ({}) does not support {}", device->kind, device->kind, device->index,
                     device->name, to_string(precision_of(config, kind)));
}

}  // namespace mgcompare
