#include "services/trial_service.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/error_text.h"
#include "base/footprint.h"
#include "config/config.h"
#include "data/dataset.h"
#include "measure/processor_time.h"
#include "modules/platform_host.h"
#include "process/memory_limit.h"
#include "services/data_service.h"

namespace mgcompare {
namespace {

// Finds what a plugin leaves behind. The libraries of GPUs start threads and open descriptors when they are first used in some way,
// but not again each time: so on GPUs these count only after another repeat of the same row. A worker of several hosts has opened all of its
// connections before its first trial.
class LeftoverCheck {
 public:
  std::string left_behind(const Trial& trial, const Footprint& before) {
    const bool is_first = seen_.insert(row_name(trial)).second;
    Footprint after = settled_footprint(before);
    if (is_first && trial.device_kind != DeviceKind::cpu) after = {before.threads, before.descriptors, after.processes, after.settings};
    return difference(before, after);
  }

  // Threads that exist before the first plugin does: those of MPI, of the link between the hosts and of the channel to the runner.
  void register_services() {
    if (!std::exchange(has_services_, true)) register_service_threads();
  }

 private:
  std::set<std::string> seen_;
  bool has_services_ = false;
};

// Opens the devices' module, so that what it holds is not taken for the plugin's. The trial reports a failure.
void open_platform(const Trial& trial) {
  try {
    platform(trial.device_kind);
  } catch (const Error&) {
  }
}

// What this worker held before its first trial on the present data. What it has kept from trials since then, as allocators do, counts
// for a memory limit: otherwise the limit would depend on the trials before.
class HeldBefore {
 public:
  double bytes(const Trial& trial) {
    const double now = held_memory();
    least_ = trial.data_fingerprint == data_ ? std::min(least_, now) : now;
    data_ = trial.data_fingerprint;
    return least_;
  }

 private:
  std::string data_;
  double least_ = std::numeric_limits<double>::infinity();
};

nlohmann::json run_trial(Session& session, const HostsOf& hosts, LeftoverCheck& leftovers, HeldBefore& held, const nlohmann::json& body,
                         RequestContext& context) {
  const TrialFiles files = files_from_json(body);
  const Trial trial = body.at("trial").get<Trial>();
  context.position().set({TrialPhase::setup, 0, 0});
  session.data(trial.config.data, reporting_places(files.data_folder, context), reporting_log(context));
  context.note({{"ready", true}});
  open_platform(trial);
  if (hosts) leftovers.register_services();
  const Footprint before = footprint();
  std::optional<MemoryLimit> limit;
  if (trial.device_kind == DeviceKind::cpu) limit.emplace(trial.config.measure.memory_limit, held.bytes(trial));
  // Free-running ranks have no limit on steps. Those in lockstep end by themselves before this.
  constexpr std::size_t kStepsOfWarmup = 16;
  std::size_t reports = 0;
  const auto has_enough = [&] { return files.most_steps > 0 && reports > files.most_steps + kStepsOfWarmup; };
  const auto explained = [&](Result result) {
    if (result.status == TrialStatus::interrupted && !context.stopping() && has_enough()) result.status = TrialStatus::done;
    if (result.status == TrialStatus::out_of_memory && limit)
      result.cause = with_memory_limit(fmt::format("{}; the trial may use {:.2f} GiB (measure.memory_limit)", result.cause, limit->gibibytes()));
    return result;
  };
  nlohmann::json answer = explained(session.run(
      trial, files, [&](const Progress& progress) { context.report(progress); }, context.position(),
      [&] {
        ++reports;
        return context.stopping() || has_enough();
      }, [&](const Result& result) { context.leave(explained(result)); },
      hosts ? hosts(trial) : HostSpan()));
  if (const std::string left = leftovers.left_behind(trial, before); !left.empty()) answer[kLeftBehind] = left;
  return answer;
}

}  // namespace

Handlers trial_handlers(Session& session, HostsOf hosts) {
  const auto load_data = [&session](const nlohmann::json& body, RequestContext& context) -> nlohmann::json {
    const DataPlaces places = reporting_places(body.at("data_folder").get<std::string>(), context);
    const Dataset& data = session.data(body.at("config").get<Config>().data, places, reporting_log(context));
    return {{"name", data.name},
            {"origin", data.origin},
            {"fingerprint", data.fingerprint},
            {"remark", data.remark},
            {"training_set", data.training_set},
            {"train_samples", data.train.samples},
            {"test_samples", data.test.samples}};
  };
  return {{"trial",
           [&session, hosts = std::move(hosts), leftovers = std::make_shared<LeftoverCheck>(), held = std::make_shared<HeldBefore>()](const nlohmann::json& body,
                                                                                                           RequestContext& context) {
             return run_trial(session, hosts, *leftovers, *held, body, context);
           }},
          {"data", load_data}};
}

}  // namespace mgcompare
