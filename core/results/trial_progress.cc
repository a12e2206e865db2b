#include "results/trial_progress.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace mgcompare {

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

nlohmann::json files_to_json(const TrialFiles& files) {
  return {{"checkpoint", files.checkpoint}, {"resume", files.resume},       {"record", files.record},
          {"replay", files.replay},         {"trace", files.trace},         {"data_folder", files.data_folder},
          {"send_data", files.send_data},   {"scratch", files.scratch},     {"most_steps", files.most_steps},
          {"run", files.run}};
}

TrialFiles files_from_json(const nlohmann::json& json) {
  TrialFiles files;
  json.at("checkpoint").get_to(files.checkpoint);
  json.at("resume").get_to(files.resume);
  json.at("record").get_to(files.record);
  json.at("replay").get_to(files.replay);
  json.at("trace").get_to(files.trace);
  json.at("data_folder").get_to(files.data_folder);
  json.at("send_data").get_to(files.send_data);
  json.at("scratch").get_to(files.scratch);
  json.at("most_steps").get_to(files.most_steps);
  json.at("run").get_to(files.run);
  return files;
}

}  // namespace mgcompare
