#include "train/trial_checkpoint.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/clock.h"

namespace mgcompare {

TrialCheckpoint::TrialCheckpoint(TrainingState& state)
    : state_(state),
      resumes_(state.request.files.resume && std::filesystem::exists(state.request.files.checkpoint)) {}

bool TrialCheckpoint::is_due(std::size_t epoch) const {
  const std::size_t every = state_.config.checkpoint_epochs, done = epoch + 1;
  return !state_.request.files.checkpoint.empty() && every != 0 && done % every == 0 && done != state_.config.epochs;
}

void TrialCheckpoint::save(std::size_t number, std::size_t epoch) {
  if (!is_due(epoch)) return;
  const double start = now();
  if (number == 0) checkpoint_ = {nlohmann::json::object(), std::vector<Blobs>(state_.ranks.size())};
  state_.enter(TrainingPhase::checkpoint, number);
  checkpoint_.ranks[number] = save_rank(state_.ranks[number]);
  state_.wait_for_ranks(number);
  if (number == 0) {
    checkpoint_.progress = {{"epochs", epoch + 1},
                            {"steps", state_.steps},
                            {"result", state_.result()},
                            {"record", state_.outcome.record}};
    write_checkpoint(state_.request.files.checkpoint, checkpoint_);
    state_.result().seconds_checkpoint += now() - start;
    state_.request.report({TrialPhase::checkpoint, epoch, state_.config.epochs, 0, state_.facts.steps_per_epoch, 0});
  }
  state_.wait_for_ranks(number);
}

void TrialCheckpoint::restore(std::size_t number) {
  if (!resumes_) return;
  if (number == 0) restore_progress();
  state_.wait_for_ranks(number);
  restore_rank(state_.ranks[number], checkpoint_.ranks[number]);
  state_.wait_for_ranks(number);
}

void TrialCheckpoint::restore_progress() {
  const std::string& file = state_.request.files.checkpoint;
  checkpoint_ = read_checkpoint(file);
  if (checkpoint_.ranks.size() != state_.ranks.size())
    throw Error("the checkpoint " + file + " has " + std::to_string(checkpoint_.ranks.size()) +
                " ranks, this trial has " + std::to_string(state_.ranks.size()));
  const nlohmann::json& progress = checkpoint_.progress;
  state_.outcome.result = progress.at("result").get<Result>();
  state_.first_epoch = progress.at("epochs").get<std::size_t>();
  state_.steps = progress.at("steps").get<std::size_t>();
  if (!state_.request.record) return;
  // Replicas hold pointers to the lines of their ranks, so the lines are replaced in place.
  ScheduleLog kept = progress.at("record").get<ScheduleLog>();
  ScheduleLog& record = state_.outcome.record;
  record.epochs = std::move(kept.epochs);
  for (std::size_t rank = 0; rank < kept.ranks.size(); ++rank) record.ranks[rank] = std::move(kept.ranks[rank]);
}

}  // namespace mgcompare
