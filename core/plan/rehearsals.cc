#include "plan/rehearsals.h"

#include <algorithm>
#include <set>

#include "discovery/manifest.h"

namespace mgcompare {
namespace {

// The first has steps that take longer than others.
constexpr std::size_t kEpochs = 2;

}  // namespace

bool has_rehearsals(const Config& config) {
  const MeasureConfig& measure = config.measure;
  return measure.rehearse == Rehearse::always || (measure.rehearse == Rehearse::automatic && measure.level == MeasureLevel::thorough);
}

std::vector<std::size_t> rehearsed_counts(const std::vector<ListedDevices>& devices, DeviceKind kind) {
  std::set<std::size_t> all;
  std::size_t largest = 1;
  for (const ListedDevices& some : devices) {
    if (some.kind != kind || some.hosts > 1) continue;
    all.insert(some.count);
    if (some.unavailable.empty()) largest = std::max(largest, some.count);
  }
  all.insert({2 * largest, 4 * largest, 8 * largest});
  all.erase(1);
  return {all.begin(), all.end()};
}

bool can_be_rehearsed(const Traits& traits, const TrialKey& trial, std::size_t steps_per_epoch) {
  const bool has_late_stage = std::any_of(traits.stages.begin(), traits.stages.end(), [&](std::size_t begin) { return begin > steps_per_epoch; });
  return !has_late_stage && traits.pace == Traits::Pace::lockstep && traits.role == Traits::Role::contender && !traits.one_host && trial.hosts == 1 &&
         trial.ranks_per_device == 1 && trial.devices > 1 && trial.devices <= trial.global_batch && !is_backend(trial.plugin_file) && trial.unavailable.empty();
}

std::vector<Trial> rehearsal_trials(Trial trial) {
  trial.rehearsal = true;
  trial.block = 0;
  trial.ids.resize(std::min<std::size_t>(1, trial.ids.size()));
  trial.config.epochs = kEpochs;
  // The strategy's answer may depend on the number of epochs.
  trial.traits.clear();
  trial.planned_steps = 0;
  std::vector<Trial> both(2, trial);
  both.back().rehearsed_rank = trial.ranks() - 1;
  return both;
}

}  // namespace mgcompare
