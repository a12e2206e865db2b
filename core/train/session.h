#pragma once

// What a worker keeps warm between trials (modules, devices' data, plugins) and how it runs one of them. One trial at a
// time; ranks are threads inside run().

#include <functional>
#include <memory>
#include <string>

#include "data/load.h"
#include "results/result.h"
#include "results/trial_progress.h"
#include "plan/trial.h"

namespace mgcompare {

class Session {
 public:
  Session();
  ~Session();
  // The samples of trials with this config, kept for them. Throws DataError.
  const Dataset& data(const DataConfig& config, const DataPlaces& places, const DataLog& log);
  // Never throws for what happens inside the trial: that is the result's status and cause. `stop` is polled between
  // steps: true ends the trial as "interrupted"; the checkpoint of its last whole epoch, where one is wanted, is there.
  // `leave` gets the result of a trial in which a rank failed, and ends the process (see ranks.h).
  Result run(const Trial& trial, const TrialFiles& files, const std::function<void(const Progress&)>& report,
             const std::function<bool()>& stop, const std::function<void(const Result&)>& leave);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mgcompare
