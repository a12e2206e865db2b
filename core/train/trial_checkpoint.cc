#include "train/trial_checkpoint.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "train/training_identity.h"

namespace mgcompare {
namespace {

// A checkpoint has the state of all ranks and figures of all steps. What a strategy keeps is its own choice, so the limit is
// far above what any needs: in memory it would cost as many copies of the model.
constexpr double kModelsPerRank = 64;
constexpr double kBytesPerStep = 4096;  // of each rank: times and intervals, the schedule, what the strategy records
constexpr double kBaseBytes = 16 << 20;

std::uint64_t most_bytes_of(const TrainingState& state) {
  const double model = static_cast<double>((state.spec.parameters + state.spec.buffers) * sizeof(float));
  const double steps = static_cast<double>(state.facts.steps_per_epoch) * static_cast<double>(state.config.epochs);
  const double bytes = kBaseBytes + static_cast<double>(state.span.all) * (kModelsPerRank * model + kBytesPerStep * steps);
  return static_cast<std::uint64_t>(std::min(bytes, 0x1p62));
}

}  // namespace

TrialCheckpoint::TrialCheckpoint(TrainingState& state)
    : state_(state), most_bytes_(most_bytes_of(state)),
      resumes_(state.request.files.resume && (state.request.hosts.count > 1 || std::filesystem::exists(state.request.files.checkpoint))) {}

bool TrialCheckpoint::is_due(std::size_t epoch) const {
  const std::size_t every = state_.config.checkpoint_epochs, done = epoch + 1;
  return !state_.request.files.checkpoint.empty() && every != 0 && done % every == 0 && done != state_.config.epochs;
}

void TrialCheckpoint::save(std::size_t number, std::size_t epoch) {
  if (!is_due(epoch)) return;
  const double start = now();
  if (number == 0) {
    if (identity_.empty()) identity_ = training_identity(state_.trial, state_.data, state_.request.files.run);
    checkpoint_ = {identity_, nlohmann::json::object(), std::vector<Blobs>(state_.ranks.size())};
  }
  state_.enter(TrainingPhase::checkpoint, number);
  checkpoint_.ranks[number] = save_rank(state_.ranks[number]);
  state_.wait_for_ranks(number);
  if (number == 0) {
    gather_ranks();
    state_.gather_lines();
    if (state_.request.hosts.number == 0) write(epoch);
    state_.result().seconds_checkpoint += now() - start;
    state_.request.report({TrialPhase::checkpoint, epoch, state_.config.epochs, 0, state_.facts.steps_per_epoch, 0});
  }
  state_.wait_for_ranks(number);
}

void TrialCheckpoint::gather_ranks() {
  const HostSpan& hosts = state_.request.hosts;
  if (hosts.count == 1) return;
  std::vector<Blobs> all;
  for (const std::string& bytes : gather(hosts, bytes_of(checkpoint_.ranks)))
    for (Blobs& rank : ranks_of(bytes)) all.push_back(std::move(rank));
  checkpoint_.ranks = std::move(all);
}

void TrialCheckpoint::write(std::size_t epoch) {
  checkpoint_.progress = {{"epochs", epoch + 1},
                          {"steps", state_.steps},
                          {"result", state_.result()},
                          {"record", state_.outcome.record}};
  if (write_checkpoint(state_.request.files.checkpoint, checkpoint_, most_bytes_) || std::exchange(is_too_large_, true)) return;
  state_.result().notes.push_back(fmt::format("no checkpoint was written after epoch {}: it has more than {} bytes, the limit for "
                                              "this network and number of steps; save less in the strategy's save()",
                                              epoch + 1, most_bytes_));
}

void TrialCheckpoint::restore(std::size_t number) {
  if (!resumes_) return;
  if (number == 0) {
    if (state_.request.hosts.number == 0) restore_progress();
    share_progress();
  }
  state_.wait_for_ranks(number);
  if (!checkpoint_.ranks.empty()) restore_rank(state_.ranks[number], checkpoint_.ranks[number]);
  state_.wait_for_ranks(number);
}

void TrialCheckpoint::share_progress() {
  const HostSpan& hosts = state_.request.hosts;
  if (hosts.count == 1) return;
  std::array<std::uint64_t, 2> at = {state_.first_epoch, state_.steps};
  std::string bytes = hosts.number == 0 ? bytes_of(checkpoint_.ranks) : "";
  broadcast(hosts, at.data(), sizeof(at));
  broadcast(hosts, bytes);
  state_.first_epoch = at[0];
  state_.steps = at[1];
  std::vector<Blobs> all = ranks_of(bytes);
  checkpoint_.ranks.clear();
  if (all.empty()) return;
  for (std::size_t rank = 0; rank < state_.span.here; ++rank) checkpoint_.ranks.push_back(std::move(all.at(state_.global(rank))));
}

void TrialCheckpoint::restore_progress() {
  // Of a trial on several hosts: they all come here.
  if (!std::filesystem::exists(state_.request.files.checkpoint)) return;
  std::string problem;
  try {
    return read();
  } catch (const Error& error) {
    problem = error.what();
  } catch (const nlohmann::json::exception& error) {
    problem = error.what();
  }
  checkpoint_ = {};
  state_.result().notes.push_back("trained again from the start: the checkpoint " + state_.request.files.checkpoint +
                                  " was not used, because " + problem);
}

void TrialCheckpoint::read() {
  identity_ = training_identity(state_.trial, state_.data, state_.request.files.run);
  checkpoint_ = read_checkpoint(state_.request.files.checkpoint, most_bytes_);
  if (checkpoint_.identity != identity_)
    throw Error("it belongs to another run, or to a training with other settings, data or plugin");
  const nlohmann::json& progress = checkpoint_.progress;
  Result result = progress.at("result").get<Result>();
  const auto epochs = progress.at("epochs").get<std::size_t>(), steps = progress.at("steps").get<std::size_t>();
  // Nothing is left to train behind the last epoch, so no checkpoint is written there.
  if (epochs < 1 || epochs >= state_.config.epochs || result.epochs.size() != epochs)
    throw Error(fmt::format("it says that {} of {} epochs are done and has the results of {}", epochs, state_.config.epochs, result.epochs.size()));
  ScheduleLog kept = progress.at("record").get<ScheduleLog>();
  ScheduleLog& record = state_.outcome.record;
  if (checkpoint_.ranks.size() != state_.span.all || (state_.request.record && kept.ranks.size() != record.ranks.size()))
    throw Error("it has another number of ranks");
  state_.outcome.result = std::move(result);
  state_.first_epoch = epochs;
  state_.steps = steps;
  if (!state_.request.record) return;
  // Replicas hold pointers to the lines of their ranks, so the lines are replaced in place.
  record.epochs = std::move(kept.epochs);
  for (std::size_t rank = 0; rank < kept.ranks.size(); ++rank) record.ranks[rank] = std::move(kept.ranks[rank]);
}

}  // namespace mgcompare
