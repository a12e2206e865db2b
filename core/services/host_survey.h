#pragma once

// The devices of several hosts, and the links within and between them: for `devices` and `doctor`. Both sides are here.

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/config.h"
#include "discovery/capabilities.h"
#include "process/supervisor.h"
#include "results/link_measurements.h"

namespace mgcompare {

struct HostSpan;

struct SurveyedHost {
  std::string name;
  std::vector<PlatformSummary> platforms;
  std::vector<LinkMeasurements> links;  // of each platform with devices, if they were measured
};

struct HostSurvey {
  std::string transport;            // name and version of the library between the hosts
  std::vector<SurveyedHost> hosts;
  std::vector<HostPairLink> between;
};

// Starts a worker on each host, which ends with the call. Throws Error if a host cannot be reached. `report`: what is being measured.
HostSurvey survey_hosts(const HostsConfig& hosts, const SupervisorSettings& settings, bool measures, const std::function<void(const std::string&)>& report);

// In the worker of each host: its own part. All call it at the same time; the links between hosts are in the result of host 0.
nlohmann::json survey_own_host(bool measures, const HostSpan& hosts, const std::function<void(const std::string&)>& report);

}  // namespace mgcompare
