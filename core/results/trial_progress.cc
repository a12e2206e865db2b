#include "results/trial_progress.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace mgcompare {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrialFiles, checkpoint, resume, record, replay, trace, data_folder, send_data, scratch, most_steps, run)

nlohmann::json progress_to_json(const Progress& progress) {
  return {{"phase", to_string(progress.phase)}, {"epoch", progress.epoch}, {"epochs", progress.epochs},
          {"step", progress.step},   {"steps", progress.steps}, {"loss", progress.loss}};
}

Progress progress_from_json(const nlohmann::json& json) {
  Progress progress;
  progress.phase = trial_phase_of(json.at("phase").get<std::string>());
  progress.epoch = json.at("epoch").get<std::size_t>();
  progress.epochs = json.at("epochs").get<std::size_t>();
  progress.step = json.at("step").get<std::size_t>();
  progress.steps = json.at("steps").get<std::size_t>();
  // JSON has no infinity: such a loss arrives as null.
  progress.loss = json.at("loss").is_number() ? json["loss"].get<double>() : std::nan("");
  return progress;
}

nlohmann::json files_to_json(const TrialFiles& files) { return files; }
TrialFiles files_from_json(const nlohmann::json& json) { return json.get<TrialFiles>(); }

}  // namespace mgcompare
