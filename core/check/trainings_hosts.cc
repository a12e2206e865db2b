// Trainings on several hosts, which are threads of this process.

#include <unistd.h>

#include <exception>
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

std::string Trainings::refused_hosts(const TrainingCase& of, const Traits& traits) const {
  return mgcompare::refused_hosts(trial_of(of), traits);
}

std::vector<TrainingOutcome> Trainings::run_on_hosts(const TrainingCase& of) {
  if (listener_.training) listener_.training(of.optimizer, of.ranks);
  StrategyOptions options(of.strategy.options);
  const Trial trial = planned_trial_of(of, traits(of, options));
  TrainingRequest request = request_of(of, trial);
  const std::string file = file_of(of.strategy);
  request.make = [&](Options& given, const Facts& facts) { return make_strategy(file, given, facts); };
  if (listener_.leave)
    request.leave = [&, said = std::make_shared<std::mutex>()](const std::exception_ptr& cause) {
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
  std::vector<TrainingRequest> requests(of.hosts, request);
  std::vector<TrainingOutcome> outcomes(of.hosts);
  on_joined_hosts(of.hosts, [&](const HostSpan& hosts) {
    TrainingRequest& own = requests[hosts.number];
    own.hosts = hosts;
    if (hosts.number > 0) own.report = [](const Progress&) {}, own.position = nullptr;
    outcomes[hosts.number] = train(own);
  });
  return outcomes;
}

}  // namespace mgcompare
