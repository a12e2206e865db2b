// Trainings on several hosts, which are threads of this process.

#include <unistd.h>

#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "check/joined_hosts.h"
#include "check/trainings.h"
#include "mgcompare/error.h"
#include "modules/plugin_host.h"
#include "plan/host_rows.h"
#include "results/cause.h"

namespace mgcompare {

TrainingOutcome train_on(std::size_t count, const TrainingRequest& request) {
  if (count == 1) return train(request);
  std::vector<TrainingRequest> requests(count, request);
  std::vector<TrainingOutcome> outcomes(count);
  on_joined_hosts(count, [&](const HostSpan& hosts) {
    TrainingRequest& own = requests[hosts.number];
    own.hosts = hosts;
    // The first host speaks, and is interrupted, for all.
    if (hosts.number > 0) own.report = [](const Progress&) {}, own.position = nullptr, own.stop = [] { return false; };
    outcomes[hosts.number] = train(own);
  });
  TrainingOutcome all = std::move(outcomes[0]);
  for (std::size_t host = 1; host < count; ++host)
    std::move(outcomes[host].weights.begin(), outcomes[host].weights.end(), std::back_inserter(all.weights));
  return all;
}

std::string Trainings::refused_hosts(const TrainingCase& of, const Traits& traits) const {
  return mgcompare::refused_hosts(trial_of(of), traits);
}

Leave Trainings::leave_of_hosts(const TrainingCase& of) const {
  if (!listener_.leave) return {};
  return [this, of, said = std::make_shared<std::mutex>()](const std::exception_ptr& cause) {
    // The host whose error released the others ends the process.
    try {
      std::rethrow_exception(cause);
    } catch (const Aborted&) {
      for (;;) pause();
    } catch (...) {
    }
    const std::lock_guard one(*said);
    listener_.found({VerifyFinding::Verdict::failed, of.strategy.label, "runs", of.optimizer, of.ranks, cause_of(cause).sentence});
    listener_.leave();
  };
}

ObservedTraining Trainings::run_on_hosts(const TrainingCase& of) {
  if (listener_.training) listener_.training(of.optimizer, of.ranks);
  StrategyOptions options(of.strategy.options);
  const Traits traits = this->traits(of, options);
  const Trial trial = planned_trial_of(of, traits);
  ObservedTraining training{{}, Observation(static_cast<std::size_t>(of.ranks))};
  Disturbance disturbance = disturbance_of(of);
  disturbance.alteration = of.alteration;
  TrainingRequest request = request_of(of, trial);
  std::string file = file_of(of.strategy);
  request.make = [&](Options& given, const Facts& facts) { return observed(make_strategy(file, given, facts), disturbance, training.seen); };
  request.leave = leave_of_hosts(of);
  if (of.resumes) {
    request.files.checkpoint = folder_ + "/checkpoint_of_hosts";
    std::filesystem::remove(request.files.checkpoint);
    run_part(request, 1, traits.pace == Traits::Pace::free, of.hosts);
    request.files.resume = true;
    file = copy_of(of.strategy);
    disturbance.first_epoch = 1;
    training.seen = Observation(static_cast<std::size_t>(of.ranks));
  }
  training.outcome = train_on(of.hosts, request);
  if (training.seen.ranks[0].first_epoch < disturbance.first_epoch) throw Error("its checkpoint was not resumed");
  return training;
}

}  // namespace mgcompare
