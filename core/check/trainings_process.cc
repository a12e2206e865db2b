// The part of trainings.h that leaves a training to another process, and takes it up there.

#include <fmt/format.h>

#include <cerrno>
#include <fstream>

#include "base/error_text.h"
#include "check/trainings.h"
#include "modules/plugin_host.h"

namespace mgcompare {

std::string Trainings::kept_file(const TrainingCase& of, std::string_view what) const {
  return fmt::format("{}/{:016x}.{}", folder_, std::hash<std::string>()(of.strategy.label), what);
}

void Trainings::keep(const TrainingCase& of) {
  const TrainingOutcome outcome = run(of).outcome;
  std::ofstream file(kept_file(of, "weights"), std::ios::binary);
  for (const std::vector<float>& weights : outcome.weights)
    file.write(reinterpret_cast<const char*>(weights.data()), static_cast<std::streamsize>(weights.size() * sizeof(float)));
  if (!file.flush()) throw Error(fmt::format("the weights {}: cannot be written: {}", kept_file(of, "weights"), error_text(errno)));
  StrategyOptions options(of.strategy.options);
  const Traits traits = this->traits(of, options);
  TrainingCase saving = of;
  saving.saves = true;
  const Trial trial = planned_trial_of(saving, traits);
  TrainingRequest request = request_of(of, trial);
  request.make = [&](Options& own, const Facts& facts) { return make_strategy(file_of(of.strategy), own, facts); };
  request.files.checkpoint = kept_file(of, "checkpoint");
  const bool free_pace = traits.pace == Traits::Pace::free;
  run_part(request, free_pace ? 1 : extent_of(scope_, of.optimizer, of.is_brief).checkpoints[0], free_pace);
}

std::vector<std::vector<float>> Trainings::kept_weights(const TrainingCase& of) const {
  std::vector<std::vector<float>> all(static_cast<std::size_t>(of.ranks), std::vector<float>(parameters()));
  std::ifstream file(kept_file(of, "weights"), std::ios::binary);
  for (std::vector<float>& weights : all)
    file.read(reinterpret_cast<char*>(weights.data()), static_cast<std::streamsize>(weights.size() * sizeof(float)));
  if (!file) throw Error(fmt::format("the weights in {} cannot be read", kept_file(of, "weights")));
  return all;
}

TrainingOutcome Trainings::resume_kept(const TrainingCase& of) {
  TrainingCase saving = of;
  saving.saves = true;
  return resume(saving, kept_file(of, "checkpoint"), file_of(of.strategy));
}

TrainingOutcome Trainings::resume_saved(const TrainingCase& of) { return resume(of, folder_ + "/saved", copy_of(of.strategy)); }

TrainingOutcome Trainings::resume(const TrainingCase& of, const std::string& checkpoint, const std::string& plugin) {
  if (listener_.training) listener_.training(of.optimizer, of.ranks);
  StrategyOptions options(of.strategy.options);
  const Trial trial = planned_trial_of(of, traits(of, options));
  TrainingRequest request = request_of(of, trial);
  Observation seen(static_cast<std::size_t>(of.ranks));
  request.make = [&](Options& own, const Facts& facts) { return observed(make_strategy(plugin, own, facts), {}, seen); };
  request.files = {.checkpoint = checkpoint, .resume = true};
  TrainingOutcome outcome = train(request);
  if (seen.ranks[0].first_epoch == 0) throw Error("its checkpoint was not resumed");
  return outcome;
}

}  // namespace mgcompare
