#include "services/fitting_batch.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "discovery/manifest.h"

namespace mgcompare {
namespace {

constexpr std::size_t kSteps = 3;
constexpr std::size_t kFineness = 16;       // the found batch is at most this part smaller than the largest
constexpr std::size_t kMostAttempts = 12;
constexpr double kReserve = 0.05;           // of a limit on memory: what a whole training needs more differs from one to the next
constexpr double kMostSeconds = 60;

std::size_t devices_of_batch(const Trial& trial) { return trial.scaling == ScalingMode::weak ? trial.devices : 1; }

}  // namespace

FittingBatch::Found FittingBatch::search(const Trial& trial, const Attempt& attempt) {
  const std::size_t devices = devices_of_batch(trial);
  const double begin = now();
  const auto try_batch = [&](std::size_t batch) {
    Trial brief = trial;
    brief.global_batch = batch * devices;
    brief.traits.clear();           // they may depend on the batch
    brief.config.measure.time_limit = std::min(brief.config.measure.time_limit, begin + kMostSeconds - now());
    return attempt(brief);
  };
  Found found;
  found.fails = trial.global_batch / devices;
  // Memory may have been lacking for what follows the first steps, such as a checkpoint, whatever the batch.
  found.is_of_batch = try_batch(found.fails) != TrialStatus::done;
  if (!found.is_of_batch) return found;
  for (std::size_t count = 0; found.fails - found.fits > std::max<std::size_t>(1, found.fails / kFineness); ++count) {
    found.is_known = count < kMostAttempts && now() - begin < kMostSeconds;
    if (!found.is_known) break;
    const std::size_t batch = (found.fits + found.fails) / 2;
    const TrialStatus status = try_batch(batch);
    // Libraries may crash where an allocation of theirs fails, as oneDNN does.
    const bool fails = status == TrialStatus::out_of_memory || status == TrialStatus::crashed;
    if (status == TrialStatus::done) found.fits = batch;
    else if (fails) found.fails = batch;
    found.is_known = status == TrialStatus::done || fails;
    if (!found.is_known) break;
  }
  return found;
}

void FittingBatch::add_to(Result& result, const Trial& trial, const Attempt& attempt) {
  // A backend cannot train some steps only.
  if (result.status != TrialStatus::out_of_memory || is_backend(trial.plugin_file) || trial.rehearsal) return;
  auto found = found_.find(row_name(trial));
  if (found == found_.end()) found = found_.emplace(row_name(trial), search(trial, attempt)).first;
  const Found& batches = found->second;
  const char* per_device = trial.scaling == ScalingMode::weak ? " per device" : "";
  result.fitting_batch = batches.fits;
  if (!batches.is_of_batch) result.cause += "; its first steps fit";
  else if (batches.fits > 0) result.cause += fmt::format("; a batch of {}{} fits, one of {} does not", batches.fits, per_device, batches.fails);
  else if (batches.is_known) result.cause += fmt::format("; not even a batch of {}{} fits", batches.fails, per_device);
}

TrialStatus attempt_in_worker(Supervisor& supervisor, const Trial& trial, const std::string& data_folder) {
  TrialFiles files;
  files.data_folder = data_folder;
  files.most_steps = kSteps;
  Trial brief = trial;
  brief.config.measure.level = MeasureLevel::quick;
  brief.config.measure.record = false;
  brief.config.measure.memory_limit *= 1 - kReserve;  // without a limit, a fifth of the free memory is a reserve anyway
  brief.config.checkpoint_epochs = 0;
  brief.config.isolation = Isolation::trial;  // memory that a worker has kept from another trial counts as none
  const TrialStatus status = supervisor.run(brief, files, [](const Progress&) {}).status;
  supervisor.take_warnings();       // of the attempt
  return status;
}

}  // namespace mgcompare
