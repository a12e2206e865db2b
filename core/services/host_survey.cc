#include "services/host_survey.h"

#include <fmt/format.h>

#include "base/text.h"
#include "check/doctor.h"
#include "check/host_links.h"
#include "discovery/platform_json.h"
#include "modules/platform_host.h"
#include "process/host_job.h"
#include "services/host_names.h"

namespace mgcompare {
namespace {

constexpr double kSurveySeconds = 60;  // time limit of each step

LinkMeasurements links_of(const PlatformSummary& platform, const std::function<void(const std::string&)>& report) {
  std::string last = "opening them";
  try {
    return measure_links(mgcompare::platform(device_kind(platform.kind)), whole_scope(platform.devices.size()), [&](const std::string& what) {
      last = what;
      report(fmt::format("{} devices: {}", platform.kind, what));
    });
  } catch (const std::exception& error) {
    LinkMeasurements links;
    links.kind = platform.kind;
    links.problems.push_back(fmt::format("the check of {} devices stopped at '{}': {}", platform.kind, last, error.what()));
    return links;
  }
}

}  // namespace

nlohmann::json survey_own_host(bool measures, const HostSpan& hosts, const std::function<void(const std::string&)>& report) {
  nlohmann::json links = nlohmann::json::array(), between = nlohmann::json::array();
  const std::vector<PlatformSummary> platforms = find_platforms();
  if (measures) {
    // First, so that no host waits here for one whose devices are slow, or which fails.
    report("links between hosts");
    between = measure_host_links(hosts);
    for (const PlatformSummary& platform : platforms)
      if (!platform.devices.empty()) links.push_back(links_of(platform, report));
  }
  return {{"platforms", platforms}, {"links", links}, {"between", between}};
}

HostSurvey survey_hosts(const HostsConfig& hosts, const SupervisorSettings& settings, bool measures, const std::function<void(const std::string&)>& report) {
  check_host_names(hosts.names);
  Supervisor supervisor(host_job_settings(hosts, settings));
  const auto on_note = [&](const nlohmann::json& note) {
    if (note.contains("step")) report(plain(note["step"].get<std::string>()));
  };
  const Reply reply = supervisor.ask("survey", {{"measures", measures}}, kSurveySeconds, {{}, on_note});
  const nlohmann::json& found = reply.require("the hosts cannot be surveyed", "run the command again");
  HostSurvey survey;
  survey.transport = plain(found.at("transport").get<std::string>());
  const nlohmann::json& parts = found.at("hosts");
  for (std::size_t i = 0; i < hosts.names.size(); ++i) {
    survey.hosts.push_back({hosts.names[i], parts.at(i).at("platforms").get<std::vector<PlatformSummary>>(),
                            parts.at(i).at("links").get<std::vector<LinkMeasurements>>()});
  }
  survey.between = parts.at(0).at("between").get<std::vector<HostPairLink>>();
  return survey;
}

}  // namespace mgcompare
