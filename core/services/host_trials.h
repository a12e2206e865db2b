#pragma once

// Runs the trials on several hosts: the runner's side. Knows which hosts are lost, and starts a new job on the remaining ones.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "plan/trial.h"
#include "process/supervisor.h"

namespace mgcompare {

class HostTrials {
 public:
  // `settings`: of a supervisor of trials. Starts nothing yet.
  HostTrials(const HostsConfig& hosts, SupervisorSettings settings);

  // Throws Error if the hosts cannot run these trials: this machine is not the first host, one cannot be reached, has another build, other
  // data or too few devices. Does nothing if all trials run on one host. `files`: where its data are, and whether they are
  // sent to the others; `fingerprint`: of its data.
  void check(const std::vector<Trial>& trials, const Config& config, const TrialFiles& files, const std::string& fingerprint);
  // Runs one trial, as Supervisor::run. One that needs more hosts than are left is not started.
  Result run(const Trial& trial, const TrialFiles& files, const std::function<void(const Progress&)>& report);
  std::vector<std::string> take_warnings();

 private:
  void start();
  // Whether a new job connects all hosts. It then runs the next trial.
  bool can_use_hosts();
  void forget(const std::vector<std::string>& lost);

  HostsConfig hosts_;               // those that are left
  SupervisorSettings settings_;
  std::unique_ptr<Supervisor> supervisor_;
  std::vector<std::string> lost_, warnings_;
  std::string loss_;                // how the last one was lost
};

}  // namespace mgcompare
