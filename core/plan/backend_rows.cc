#include "plan/backend_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "discovery/manifest.h"

namespace mgcompare {
namespace {

constexpr std::size_t kLargestShift = 127;  // the protocol has 8 bits for it

bool has(const std::vector<std::string>& names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

}  // namespace

std::string missing_in_backend(const StrategySummary& answer, const TrialKey& trial, const Config& config) {
  if (!is_backend(trial.plugin_file)) return "";
  const BackendSummary& backend = answer.backend;
  // What is wrong in the config is an error, whatever is installed.
  if (!answer.problems.empty()) return "";
  if (!backend.unavailable.empty()) return backend.unavailable;
  const std::string& name = trial.strategy.name;
  const std::string kind(to_string(trial.device_kind));
  if (std::find(answer.traits.devices.begin(), answer.traits.devices.end(), trial.device_kind) == answer.traits.devices.end())
    return fmt::format("{} has no {} devices here", name, kind);
  const auto precisions = backend.precisions.find(kind);
  const std::string_view precision = to_string(precision_of(config, trial.device_kind));
  if (precisions == backend.precisions.end() || !has(precisions->second, precision))
    return fmt::format("{} does not support {} on {}; set `numerics.precision`", name, precision, kind);
  if (config.kernels == KernelChoice::library) return fmt::format("{} has kernels of its own; `numerics.kernels: library` is for strategies", name);
  if (!has(backend.optimizers, to_string(config.optimizer.kind)))
    return fmt::format("{} does not support the optimiser {}", name, to_string(config.optimizer.kind));
  for (const LayerConfig& layer : config.model.layers)
    if (!has(backend.layers, to_string(layer.type))) return fmt::format("{} does not support the layer {}", name, to_string(layer.type));
  if (config.data.prepare.crop_padding > kLargestShift)
    return fmt::format("backends shift images by at most {} pixels, and `data.crop.padding` is {}", kLargestShift, config.data.prepare.crop_padding);
  if (trial.ranks_per_device > 1) return "backends run one rank on each device, and `scaling.ranks_per_device` asks for more";
  return "";
}

std::string missing_backend(const StrategySummary& answer, const std::string& name) {
  const std::string& reason = answer.backend.unavailable;
  return reason.empty() ? "" : fmt::format("rows of {} are unavailable: {}", name, reason);
}

void add_backend(TrialKey& trial, const StrategySummary& answer, const Config& config) {
  trial.versions = {answer.backend.versions.begin(), answer.backend.versions.end()};
  if (trial.unavailable.empty()) trial.unavailable = missing_in_backend(answer, trial, config);
}

}  // namespace mgcompare
