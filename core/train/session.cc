#include "train/session.h"

#include <exception>
#include <utility>

#include "results/cause.h"
#include "base/clock.h"
#include "modules/platform_host.h"
#include "modules/plugin_host.h"
#include "train/training.h"

namespace mgcompare {
namespace {

// What decides which samples there are.
std::string key_of(const DataConfig& data) {
  return data.set + '/' + data.fallback + '/' + std::to_string(data.train_samples) + '/' +
         std::to_string(data.test_samples) + '/' + std::to_string(data.validation_samples);
}

Numerics numerics_of(const Trial& trial) {
  Numerics numerics;
  numerics.precision = precision_of(trial.config, trial.device_kind);
  numerics.deterministic = is_repeatable(trial.config);
  return numerics;
}

Result ended(TrialStatus status, const std::string& cause) {
  Result result;
  result.status = status;
  result.cause = cause;
  return result;
}

Result ended_by(const std::exception_ptr& thrown) {
  const Cause cause = cause_of(thrown);
  return ended(cause.status, cause.sentence);
}

}  // namespace

struct Session::State {
  std::string data_key;
  Dataset dataset;

  const Dataset& data(const DataConfig& config, const DataPlaces& places, const DataLog& log) {
    if (key_of(config) != data_key) {
      dataset = load_dataset(config, places, log);
      data_key = key_of(config);
    }
    return dataset;
  }
};

Session::Session() : state_(std::make_unique<State>()) {}
Session::~Session() = default;

const Dataset& Session::data(const DataConfig& config, const DataPlaces& places, const DataLog& log) {
  return state_->data(config, places, log);
}

Result Session::run(const Trial& trial, const TrialFiles& files, const std::function<void(const Progress&)>& report,
                    const std::function<bool()>& stop, const std::function<void(const Result&)>& leave) {
  if (!trial.unavailable.empty()) return ended(TrialStatus::unavailable, trial.unavailable);
  try {
    const double start = now();
    TrainingRequest request;
    request.trial = &trial;
    request.dataset = &data(trial.config.data, DataPlaces::standard(files.data_folder), [](const std::string&) {});
    if (!trial.data_fingerprint.empty() && request.dataset->fingerprint != trial.data_fingerprint)
      throw Error("the data changed during the run: it began with other samples than " + request.dataset->name + " (" +
                  request.dataset->origin + ") has now; results of different data never mix");
    request.platform = &platform(trial.device_kind);
    request.make = [&trial](Options& options, const Facts& facts) {
      return make_strategy(trial.plugin_file, options, facts);
    };
    request.numerics = numerics_of(trial);
    request.files = files;
    request.report = report;
    request.stop = stop;
    request.leave = [&leave](const std::exception_ptr& thrown) { leave(ended_by(thrown)); };
    const double before = now() - start;
    ScheduleLog replayed;
    if (files.replay) {
      replayed = read_schedule_log(files.record);
      request.replay = &replayed;
    }
    request.record = !files.record.empty() && !files.replay;
    TrainingOutcome outcome = train(request);
    if (!outcome.record.epochs.empty()) write_schedule_log(files.record, outcome.record);
    outcome.result.seconds_setup += before;
    return std::move(outcome.result);
  } catch (...) {
    return ended_by(std::current_exception());
  }
}

}  // namespace mgcompare
