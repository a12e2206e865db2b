#include "plan/controls.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace mgcompare {
namespace {

// On one device, at the same global batch. Its batch is its own in both modes of scaling.
Trial reference_of(Trial trial) {
  trial.strategy = {"reference", "reference", {}, {}};
  trial.plugin_file.clear();
  trial.traits.clear();
  trial.devices = trial.hosts = trial.ranks_per_device = 1;
  trial.ids.resize(std::min<std::size_t>(1, trial.ids.size()));
  trial.block = 0;
  trial.reference = true;
  return trial;
}

}  // namespace

bool is_baseline(const Traits& traits, const TrialKey& trial) {
  return traits.role == Traits::Role::baseline && trial.ranks() == 1;
}

bool promises_baseline(const Traits& traits, const TrialKey& trial, const Config& config) {
  const bool normalises = std::any_of(config.model.layers.begin(), config.model.layers.end(),
                                      [](const LayerConfig& layer) { return layer.type == LayerType::batch_norm; });
  if (normalises && config.batch_norm == BatchNormPolicy::local && trial.ranks() > 1) return false;
  return traits.promise == Traits::Promise::exact && traits.models == Traits::Models::one &&
         !is_baseline(traits, trial);
}

std::string control_group(const TrialKey& trial) {
  return fmt::format("{}{} batch {} {}", trial.network.empty() ? "" : trial.network + ": ", to_string(trial.device_kind), trial.global_batch,
                     trial.variant);
}

std::vector<Trial> extra_checks(std::vector<Trial> trials, const CheckedRows& rows) {
  std::sort(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) { return a.number < b.number; });
  // By group and block, in the order of the rows.
  std::map<std::pair<std::string, int>, const Trial*> baselines;
  for (const Trial& trial : trials)
    if (trial.unavailable.empty() && rows.baselines.contains(row_name(trial))) baselines.try_emplace({control_group(trial), trial.block}, &trial);
  std::vector<Trial> all;
  std::set<std::string> groups;
  std::vector<const Trial*> without;
  // Rows of baselines come first, so that the controls are in their order.
  std::set<std::pair<std::string, int>> needed;
  for (const Trial& trial : trials) {
    const std::string group = control_group(trial);
    if (!trial.unavailable.empty() || !rows.exact.contains(row_name(trial)) || !groups.insert(group).second) continue;
    if (baselines.contains({group, trial.block})) needed.insert({group, trial.block});
    else without.push_back(&trial);
  }
  for (const Trial& trial : trials) {
    const auto found = baselines.find({control_group(trial), trial.block});
    if (found == baselines.end() || found->second != &trial || !needed.contains(found->first)) continue;
    all.push_back(trial);
    all.back().block = 0;
    all.back().control = true;
  }
  for (const Trial* trial : without) {
    all.insert(all.end(), 2, reference_of(*trial));
    all.back().control = true;
  }
  return all;
}

}  // namespace mgcompare
