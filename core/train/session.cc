#include "train/session.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/fingerprint.h"
#include "data/mapped_file.h"
#include "modules/platform_host.h"
#include "modules/plugin_host.h"
#include "modules/transfer_host.h"
#include "results/cause.h"
#include "discovery/manifest.h"
#include "discovery/plugin_checksum.h"
#include "train/backend_training.h"
#include "train/one_device.h"
#include "train/training.h"

namespace mgcompare {
namespace {

// The settings that select the samples.
std::string key_of(const DataConfig& data) {
  return fmt::format("{}/{}/{}/{}/{} {}/{}/{}/{}/{} {:?} {:?}", to_string(data.set), to_string(data.fallback), data.train_samples,
                     data.test_samples, data.validation_samples, data.length, data.classes, fmt::join(data.shape, "x"), data.samples,
                     to_string(data.target), data.path, data.validation);
}

Numerics numerics_of(const Trial& trial) {
  Numerics numerics;
  numerics.precision = precision_of(trial.config, trial.device_kind);
  numerics.deterministic = is_repeatable(trial.config);
  numerics.kernels = trial.config.kernels;
  return numerics;
}

Result result_of(const Cause& cause) {
  Result result;
  result.status = cause.status;
  result.cause = cause.sentence;
  return result;
}

// Of the samples in memory; 0 if no file is mapped. A program that mapped a file itself can write to it without a trace in its times.
std::uint64_t fingerprint_of_mapped(const Dataset& dataset) {
  if (dataset.mapped.empty()) return 0;
  const auto of = [](const SharedBytes& bytes) { return fingerprint(std::span(bytes.data(), bytes.size())); };
  return of(dataset.train.values) * 31 + of(dataset.test.values);
}

// The worker may have opened the file before it changed, or open it now: either way it is not sure which build would run.
void check_plugin(const Trial& trial) {
  if (const std::string change = plugin_change(trial); !change.empty()) throw Error(change);
}

// The file that a path leads to.
struct FileIdentity {
  dev_t device = 0;
  ino_t number = 0;
  bool operator==(const FileIdentity&) const = default;
};
FileIdentity identity_of(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 ? FileIdentity{facts.st_dev, facts.st_ino} : FileIdentity{};
}

// The code of a plugin is mapped from its file: bytes that are written there during a trial are executed. Another file in its place is
// not.
void check_plugin_unwritten(const Trial& trial, const FileIdentity& before) {
  if (trial.reference || identity_of(trial.plugin_file) != before) return;
  const std::string now = checksum_of_plugin(trial.plugin_file);
  if (trial.plugin_sha256.empty() || now.empty() || now == trial.plugin_sha256) return;
  throw Error(fmt::format("{} was written to while the trial ran its code; build a new file and rename it, and run again with --resume, which also "
                          "repeats the finished trials of {}", trial.plugin_file, trial.strategy.name));
}

// What a strategy throws rarely says where it was thrown. Not in the cause, by which the reports group failures.
Result failure(const std::exception_ptr& thrown, const Position& at) {
  Result result = result_of(cause_of(thrown));
  if (result.status == TrialStatus::failed && at.phase != TrialPhase::none) result.notes.push_back(kFailedAt + text_of(at));
  return result;
}

// The request without callbacks and schedule.
TrainingRequest request_of(const Trial& trial, const TrialFiles& files, const Dataset& dataset) {
  if (!trial.data_fingerprint.empty() && dataset.fingerprint != trial.data_fingerprint)
    throw Error("the data changed during the run: " + dataset.name + " (" + dataset.origin +
                ") has other samples than at its start; start a new run, results of different data are not mixed");
  check_plugin(trial);
  TrainingRequest request;
  request.trial = &trial;
  request.dataset = &dataset;
  request.platform = &platform(trial.device_kind);
  request.make = [&trial](Options& options, const Facts& facts) -> std::unique_ptr<Strategy> {
    if (trial.reference) return std::make_unique<OneDevice>();
    return make_strategy(trial.plugin_file, options, facts);
  };
  request.numerics = numerics_of(trial);
  request.files = files;
  request.record = !files.record.empty() && !files.replay;
  request.most_steps = files.most_steps;
  request.evaluate = !trial.rehearsal;
  return request;
}

}  // namespace

struct Session::State {
  std::string data_key;
  Dataset dataset;

  std::uint64_t mapped = 0;         // fingerprint_of_mapped() when they were loaded

  const Dataset& data(const DataConfig& config, const DataPlaces& places, const DataLog& log) {
    if (key_of(config) != data_key || !written_file().empty()) adopt(config, load_dataset(config, places, log));
    return dataset;
  }

  void adopt(const DataConfig& config, Dataset other) {
    dataset = std::move(other);
    mapped = fingerprint_of_mapped(dataset);
    data_key = key_of(config);
  }

  // A mapped file that somebody wrote to since it was loaded, under whatever name it has now; empty if there is none. Where only
  // attributes changed, the samples themselves tell, and `doubtful` is the file.
  std::string written_file(std::string* doubtful = nullptr) {
    std::string touched;
    for (const MappedFile& file : dataset.mapped) {
      const FileChange change = change_of(file);
      if (change == FileChange::contents) return file.path;
      if (change == FileChange::attributes) touched = file.path;
    }
    if (touched.empty()) return "";
    if (fingerprint_of_mapped(dataset) != mapped) return dataset.origin;
    for (MappedFile& file : dataset.mapped) accept_change(file);
    if (doubtful != nullptr) *doubtful = touched;
    return "";
  }

  // Throws if somebody wrote to the files of the samples since data(): the trial may have read other samples than the run's. Adds a note
  // where that cannot be excluded.
  void check_unwritten(Result& result) {
    std::string doubtful;
    std::string file = written_file(&doubtful);
    if (!doubtful.empty())
      result.notes.push_back(fmt::format("attributes or times of {} changed during the trial; its samples are as before, but bytes that were changed and put "
                                         "back would look the same", doubtful));
    if (file.empty() && fingerprint_of_mapped(dataset) != mapped) file = dataset.origin;
    if (file.empty()) return;
    data_key.clear();
    throw Error(fmt::format("{} was written to while the trial read its samples from there; write a new file and rename it, and start a new "
                            "run: results of different data are not mixed", file));
  }
};

Session::Session() : state_(std::make_unique<State>()) {}
Session::~Session() = default;

void Session::adopt(const DataConfig& config, Dataset dataset) { state_->adopt(config, std::move(dataset)); }

const Dataset& Session::data(const DataConfig& config, const DataPlaces& places, const DataLog& log) {
  return state_->data(config, places, log);
}

Result Session::run(const Trial& trial, const TrialFiles& files, const std::function<void(const Progress&)>& report,
                    LivePosition& position, const std::function<bool()>& stop, const std::function<void(const Result&)>& leave,
                    const HostSpan& hosts) {
  if (!trial.unavailable.empty()) return result_of({TrialStatus::unavailable, trial.unavailable});
  try {
    position.set({TrialPhase::setup, 0, 0});
    const double start = now();
    const FileIdentity opened = identity_of(trial.plugin_file);
    const DataPlaces places = places_with_downloads(files.data_folder);
    TrainingRequest request = request_of(trial, files, data(trial.config.data, places, {}));
    request.report = report;
    request.position = &position;
    request.hosts = hosts;
    request.stop = stop;
    request.leave = [&](const std::exception_ptr& thrown) { leave(failure(thrown, position.get())); };
    const double seconds_loading = now() - start;
    if (is_backend(trial.plugin_file) && !trial.reference) {
      if (files.replay) throw Error("a backend keeps no record, so its trials cannot be replayed; run the experiment again");
      Result result = train_backend({trial, *request.dataset, *request.platform, request.numerics, files.scratch,
                                     report, position, stop});
      result.seconds_setup += seconds_loading;
      state_->check_unwritten(result);
      return result;
    }
    ScheduleLog replayed;
    if (files.replay) {
      replayed = read_schedule_log(files.record);
      request.replay = &replayed;
    }
    TrainingOutcome outcome = train(request);
    state_->check_unwritten(outcome.result);
    check_plugin_unwritten(trial, opened);
    if (!outcome.record.epochs.empty()) outcome.result.record_sha256 = write_schedule_log(files.record, outcome.record);
    outcome.result.seconds_setup += seconds_loading;
    return std::move(outcome.result);
  } catch (...) {
    return failure(std::current_exception(), position.get());
  }
}

}  // namespace mgcompare
