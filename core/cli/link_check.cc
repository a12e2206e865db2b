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

// The devices of a kind whose links are measured: those of the largest trial, of equally large ones the first in order. Of trials on
// other devices nothing is measured.
struct Linked {
  std::size_t devices = 0;
  std::vector<int> ids;             // empty: the first ones
  std::set<std::size_t> counts;     // of trials on these devices, or on the first of these
  bool is_rehearsed = false;
};

bool is_measured(const Trial& trial) { return trial.unavailable.empty() && trial.hosts == 1 && trial.devices > 1; }

// Independent of the order of the trials, which is drawn.
std::map<DeviceKind, Linked> linked_devices(const std::vector<Trial>& trials) {
  std::map<DeviceKind, Linked> all;
  for (const Trial& trial : trials) {
    if (!is_measured(trial) || trial.rehearsal) continue;
    Linked& linked = all[trial.device_kind];
    if (trial.devices > linked.devices || (trial.devices == linked.devices && trial.ids < linked.ids)) linked.devices = trial.devices, linked.ids = trial.ids;
  }
  for (const Trial& trial : trials) {
    if (!is_measured(trial) || trial.rehearsal) continue;
    Linked& linked = all[trial.device_kind];
    const bool is_alike = trial.ids.empty() == linked.ids.empty() && std::equal(trial.ids.begin(), trial.ids.end(), linked.ids.begin());
    if (is_alike) linked.counts.insert(trial.devices);
  }
  return all;
}

}  // namespace

std::vector<LinkMeasurements> check_links(Supervisor& supervisor, const Plan& plan) {
  std::map<DeviceKind, Linked> all = linked_devices(plan.trials);
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
