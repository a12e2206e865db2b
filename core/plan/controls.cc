#include "plan/controls.h"

#include <fmt/format.h>

#include <algorithm>

namespace mgcompare {

bool promises_baseline(const Traits& traits, const TrialKey& trial, const Config& config) {
  const bool normalises = std::any_of(config.model.layers.begin(), config.model.layers.end(),
                                      [](const LayerConfig& layer) { return layer.type == LayerType::batch_norm; });
  if (normalises && config.batch_norm == BatchNormPolicy::local && trial.ranks() > 1) return false;
  return traits.promise == Traits::Promise::exact && traits.pace == Traits::Pace::lockstep &&
         traits.models == Traits::Models::one && traits.role == Traits::Role::contender;
}

std::string control_group(const TrialKey& trial) {
  return fmt::format("{} batch {} {}", to_string(trial.device_kind), trial.global_batch, trial.variant);
}

std::vector<Trial> needed_controls(const std::vector<Trial>& trials, std::vector<Trial> controls,
                                   const std::vector<std::string>& promising) {
  std::erase_if(controls, [&](const Trial& control) {
    const bool has_baseline = std::any_of(trials.begin(), trials.end(), [&](const Trial& trial) {
      return trial.bracket == 0 && trial.seed == control.seed && row_name(trial) == row_name(control);
    });
    return !has_baseline || std::find(promising.begin(), promising.end(), control_group(control)) == promising.end();
  });
  return controls;
}

}  // namespace mgcompare
