#include "services/host_trials.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mgcompare/error.h"
#include "process/host_job.h"
#include "services/host_names.h"

namespace mgcompare {
namespace {

constexpr double kHostsSeconds = 60, kDataSeconds = 600;

bool is_on_several(const Trial& trial) { return trial.hosts > 1 && trial.unavailable.empty(); }

}  // namespace

HostTrials::HostTrials(const HostsConfig& hosts, SupervisorSettings settings) : hosts_(hosts), settings_(std::move(settings)) {}

void HostTrials::start() {
  if (supervisor_) return;
  supervisor_ = std::make_unique<Supervisor>(host_job_settings(hosts_, settings_));
}

void HostTrials::check(const std::vector<Trial>& trials, const Config& config, const TrialFiles& files, const std::string& fingerprint) {
  std::map<std::string, std::size_t> devices;
  for (const Trial& trial : trials) {
    if (!is_on_several(trial)) continue;
    std::size_t& most = devices[std::string(to_string(trial.device_kind))];
    most = std::max(most, trial.devices_per_host());
  }
  if (devices.empty()) return;
  check_host_names(hosts_.names);
  start();
  const auto expect = [](const Reply& reply) { return reply.require("the hosts cannot be used", "run the command again"); };
  const nlohmann::json compared = expect(supervisor_->ask("hosts", {{"devices", devices}}, kHostsSeconds));
  for (const nlohmann::json& warning : compared.at("warnings")) warnings_.push_back(warning.get<std::string>());
  const nlohmann::json data =
      expect(supervisor_->ask("data", {{"config", config}, {"data_folder", files.data_folder}, {"send_data", files.send_data}}, kDataSeconds, {}, kDataSeconds));
  if (data.at("fingerprint") != fingerprint) throw Error("the data changed while the run began; run the command again");
}

Result HostTrials::run(const Trial& trial, const TrialFiles& files, const std::function<void(const Progress&)>& report) {
  Result result;
  if (trial.hosts > hosts_.names.size()) {
    result.status = TrialStatus::device_lost;
    result.cause = fmt::format("{}; the trial needs {} hosts, {} left", loss_, trial.hosts, hosts_.names.size());
    return result;
  }
  start();
  result = supervisor_->run(trial, files, report);
  for (const std::string& warning : supervisor_->take_warnings()) warnings_.push_back(warning);
  const std::vector<std::string> lost = supervisor_->take_lost_hosts();
  if (lost.empty()) return result;
  const bool are_back = !settings_.interrupted() && can_use_hosts();
  if (settings_.interrupted()) return result;
  if (!are_back) {
    forget(lost);
    return result;
  }
  result.status = TrialStatus::crashed;
  result.cause = fmt::format("the worker of host {} did not answer any more, and a new one does: the strategy stopped it or closed its connections, or the "
                             "network failed for a time; look for stop signals and closed descriptors in the strategy", fmt::join(lost, ", "));
  return result;
}

// A worker can be silent because a plugin stopped it or closed its connections. Then a new job finds the hosts.
bool HostTrials::can_use_hosts() {
  supervisor_.reset();
  start();
  const bool answered = supervisor_->ask("hosts", {{"devices", nlohmann::json::object()}}, kHostsSeconds).answered();
  if (!answered) supervisor_.reset();
  return answered;
}

void HostTrials::forget(const std::vector<std::string>& lost) {
  supervisor_.reset();
  for (const std::string& name : lost) {
    if (std::erase(hosts_.names, name) == 0) continue;
    lost_.push_back(name);
    loss_ = fmt::format("host {} was lost", fmt::join(lost_, ", "));
    warnings_.push_back(fmt::format("{}; {} left", loss_, fmt::join(hosts_.names, ", ")));
  }
}

std::vector<std::string> HostTrials::take_warnings() { return std::exchange(warnings_, {}); }

}  // namespace mgcompare
