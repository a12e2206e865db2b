#include "cli/link_check.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "services/doctor_service.h"

namespace mgcompare {
namespace {

std::size_t device_count(const Plan& plan, DeviceKind kind) {
  for (const PlatformSummary& platform : plan.platforms)
    if (platform.kind == to_string(kind)) return platform.devices.size();
  return 0;
}

// The devices of a kind whose links are measured: those of the largest trial. Of trials with other devices nothing is measured.
struct Linked {
  std::vector<int> ids;             // empty: the first ones
  std::set<std::size_t> counts;
  bool is_rehearsed = false;
};

void add_devices(Linked& linked, std::size_t devices, const std::vector<int>& ids) {
  const auto begins_with = [](const std::vector<int>& longer, const std::vector<int>& shorter) {
    return shorter.empty() == longer.empty() && std::equal(shorter.begin(), shorter.end(), longer.begin());
  };
  if (linked.counts.empty() || devices > *linked.counts.rbegin()) {
    if (!begins_with(ids, linked.ids)) linked.counts.clear();
    linked.ids = ids;
  } else if (!begins_with(linked.ids, ids)) {
    return;
  }
  linked.counts.insert(devices);
}

}  // namespace

std::vector<LinkMeasurements> check_links(Supervisor& supervisor, const Plan& plan) {
  std::map<DeviceKind, Linked> all;
  const auto is_measured = [](const Trial& trial) { return trial.unavailable.empty() && trial.hosts == 1 && trial.devices > 1; };
  for (const Trial& trial : plan.trials)
    if (is_measured(trial) && !trial.rehearsal) add_devices(all[trial.device_kind], trial.devices, trial.ids);
  for (const Trial& trial : plan.trials) {
    if (!is_measured(trial) || !trial.rehearsal) continue;
    Linked& linked = all[trial.device_kind];
    linked.is_rehearsed = true;
    // It may have more devices than the machine.
    const std::size_t most = linked.ids.empty() ? device_count(plan, trial.device_kind) : linked.ids.size();
    if (const std::size_t devices = std::min(trial.devices, most); devices > 1) linked.counts.insert(devices);
  }
  std::vector<LinkMeasurements> found;
  for (const auto& [kind, linked] : all) {
    if (linked.counts.empty()) continue;
    DoctorScope scope{*linked.counts.rbegin(), {linked.counts.begin(), linked.counts.end()}, true};
    scope.ids = linked.ids;
    if (linked.is_rehearsed) scope.calls = timed_calls();
    found.push_back(measure_links_in_worker(supervisor, kind, scope, [](const std::string&) {}));
  }
  return found;
}

std::vector<std::string> taints_of(const Plan& plan, const std::vector<LinkMeasurements>& links) {
  std::vector<std::string> taints;
  for (const LinkMeasurements& each : links) taints.insert(taints.end(), each.problems.begin(), each.problems.end());
  for (const PlatformSummary& platform : plan.platforms) {
    for (const DeviceSummary& device : platform.devices) {
      const bool is_used = std::any_of(plan.trials.begin(), plan.trials.end(), [&](const Trial& trial) {
        const std::vector<int>& ids = trial.ids;
        const bool has_it = ids.empty() ? device.index < static_cast<int>(trial.devices_per_host())
                                        : std::find(ids.begin(), ids.end(), device.index) != ids.end();
        return to_string(trial.device_kind) == platform.kind && trial.unavailable.empty() && has_it;
      });
      for (const std::string& problem : device.problems)
        if (is_used) taints.push_back(fmt::format("{}:{} {}", platform.kind, device.index, plain(problem)));
    }
  }
  return taints;
}

}  // namespace mgcompare
