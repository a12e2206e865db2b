#pragma once

// Runs trials in a worker, one at a time, and keeps loaded data between them. Ranks are threads inside run().

#include <functional>
#include <memory>
#include <string>

#include "data/load.h"
#include "results/live_position.h"
#include "results/result.h"
#include "results/trial_progress.h"
#include "plan/trial.h"
#include "platform/transport.h"

namespace mgcompare {

class Session {
 public:
  Session();
  ~Session();
  // Loads the samples for this config; keeps them for the next call with the same config. Throws DataError.
  const Dataset& data(const DataConfig& config, const DataPlaces& places, const DataLog& log);
  // Samples for this config from another source: the next calls of data() with the same config return them.
  void adopt(const DataConfig& config, Dataset dataset);
  // Runs one trial. Failures inside the trial are not thrown; the result has their status and cause. `position` is
  // kept up to date. `stop` is polled between steps: true ends the trial as "interrupted", and its last checkpoint stays. `leave` receives
  // the result of a trial in which a rank failed, and must end the process (see rank_threads.h). `hosts`: which run
  // the trial together; each of them makes the same call, and the result is that of the first.
  Result run(const Trial& trial, const TrialFiles& files, const std::function<void(const Progress&)>& report,
             LivePosition& position, const std::function<bool()>& stop, const std::function<void(const Result&)>& leave,
             const HostSpan& hosts = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mgcompare
