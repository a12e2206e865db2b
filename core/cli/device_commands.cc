#include "cli/device_commands.h"

#include <algorithm>
#include <functional>
#include <optional>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/print.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/comma_list.h"
#include "mgcompare/error.h"
#include "plan/trial.h"
#include "process/message.h"
#include "process/run_hosts.h"
#include "process/slurm.h"
#include "results/link_measurements.h"
#include "services/doctor_service.h"
#include "services/host_survey.h"

namespace mgcompare {
namespace {

std::string name_of(const DeviceSummary& device) { return fmt::format("{}:{}", device.kind, device.index); }

// "cuda:0 is slowed down by its temperature"
std::vector<std::string> problems_of(const PlatformSummary& platform) {
  std::vector<std::string> problems;
  for (const DeviceSummary& device : platform.devices)
    for (const std::string& problem : device.problems)
      problems.push_back(fmt::format("{} {}", name_of(device), plain(problem)));
  return problems;
}

nlohmann::json json_of(const PlatformSummary& platform) {
  nlohmann::json devices = nlohmann::json::array(), facts = nlohmann::json::object();
  for (const DeviceSummary& device : platform.devices)
    devices.push_back({{"device", name_of(device)},
                       {"name", device.name},
                       {"memory_bytes", device.memory},
                       {"id", device.id},
                       {"notes", device.notes},
                       {"problems", device.problems}});
  for (const auto& [name, value] : platform.facts) facts[name] = value;
  return {{"kind", platform.kind}, {"problem", platform.problem}, {"devices", devices}, {"facts", facts}};
}

void print(const nlohmann::json& json) {
  fmt::print("{}\n", json_text(json, 2));
}

void print_platform(const PlatformSummary& platform) {
  if (!platform.problem.empty()) fmt::print("{:<8} {}\n", platform.kind, plain(platform.problem));
  for (const DeviceSummary& device : platform.devices) {
    std::vector<std::string> words = {
        device.name, fmt::format("{:.1f} GiB", static_cast<double>(device.memory) / (1024.0 * 1024 * 1024))};
    words.insert(words.end(), device.notes.begin(), device.notes.end());
    fmt::print("{:<8} {}\n", name_of(device), plain(fmt::format("{}", fmt::join(words, ", "))));
  }
  for (const auto& [name, value] : platform.facts) fmt::print("{:<8} {}: {}\n", "", name, plain(value));
}

void print_table(const std::vector<TextRow>& rows) {
  for (const std::string& line : text_table(rows, 1)) fmt::print("  {}\n", line);
}

// Copies from the row's device to the column's, including the host. * marks copies through the host, ! damaged data.
void print_matrix(const LinkMeasurements& links, const std::string& title, double DeviceFigures::*to_device,
                  double DeviceFigures::*to_host, double PairLink::*between,
                  const std::function<std::string(double)>& text) {
  fmt::print("\n{} devices: {}, from row to column\n", links.kind, title);
  std::vector<TextRow> lines = {{"", "host"}, {"host", "-"}};
  for (const DeviceFigures& device : links.devices) {
    const std::string name = fmt::format("{}:{}", links.kind, device.device), mark = device.intact ? "" : "!";
    lines[0].push_back(name);
    lines[1].push_back(text(device.*to_device) + mark);
    TextRow line = {name, to_host == nullptr ? "-" : text(device.*to_host) + mark};
    for (const DeviceFigures& other : links.devices) {
      const auto pair = std::find_if(links.pairs.begin(), links.pairs.end(), [&](const PairLink& each) {
        return each.from == device.device && each.to == other.device;
      });
      line.push_back(pair == links.pairs.end()
                         ? "-"
                         : text((*pair).*between) + (pair->direct ? "" : "*") + (pair->intact ? "" : "!"));
    }
    lines.push_back(std::move(line));
  }
  print_table(lines);
}

std::string size_text(std::size_t bytes) {
  return bytes >= (1u << 20) ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
}

void print_all_reduces(const LinkMeasurements& links) {
  if (links.all_reduces.empty()) return;
  fmt::print("\n{} devices: float32 all-reduce, us (and GB/s sent by each device)\n", links.kind);
  std::vector<std::size_t> groups, sizes;
  for (const AllReduceTime& time : links.all_reduces) {
    if (std::find(groups.begin(), groups.end(), time.devices) == groups.end()) groups.push_back(time.devices);
    if (std::find(sizes.begin(), sizes.end(), time.bytes) == sizes.end()) sizes.push_back(time.bytes);
  }
  std::vector<TextRow> lines = {{"size"}};
  for (const std::size_t devices : groups) lines[0].push_back(fmt::format("{} devices", devices));
  for (const std::size_t bytes : sizes) {
    lines.push_back({size_text(bytes)});
    for (const std::size_t devices : groups) {
      for (const AllReduceTime& time : links.all_reduces) {
        if (time.devices != devices || time.bytes != bytes) continue;
        const double sent =
            2.0 * static_cast<double>(devices - 1) / static_cast<double>(devices) * static_cast<double>(bytes);
        lines.back().push_back(fmt::format("{:.1f} ({:.2f})", time.seconds * 1e6, sent / time.seconds / 1e9));
      }
    }
  }
  print_table(lines);
}

void print_links(const LinkMeasurements& links) {
  if (links.devices.empty()) return;
  const auto rate = [](double bytes_per_second) { return fmt::format("{:.1f}", bytes_per_second / 1e9); };
  // Within a host's memory small copies take nanoseconds.
  const bool is_short = std::all_of(links.devices.begin(), links.devices.end(), [](const DeviceFigures& one) { return one.seconds_small_to_device < 1e-6; }) &&
                        std::all_of(links.pairs.begin(), links.pairs.end(), [](const PairLink& pair) { return pair.seconds_small < 1e-6; });
  const auto time = [&](double seconds) { return fmt::format("{:.3g}", seconds * (is_short ? 1e9 : 1e6)); };
  print_matrix(links, "GB/s", &DeviceFigures::bytes_per_second_to_device, &DeviceFigures::bytes_per_second_to_host,
               &PairLink::bytes_per_second, rate);
  print_matrix(links, is_short ? "ns of a small queued copy" : "us of a small queued copy", &DeviceFigures::seconds_small_to_device, nullptr,
               &PairLink::seconds_small, time);
  if (std::any_of(links.pairs.begin(), links.pairs.end(), [](const PairLink& pair) { return !pair.direct; }))
    fmt::print("  * through the host: these devices cannot access each other's memory\n");
  print_all_reduces(links);
  fmt::print("\n{} devices: single-precision matrix product\n", links.kind);
  for (const DeviceFigures& device : links.devices)
    fmt::print("  {}:{}  {:.3g} Gflop/s\n", links.kind, device.device, device.flops_per_second / 1e9);
}

LinkMeasurements measure_platform(const PlatformSummary& platform, const Command& command) {
  const DoctorScope scope = whole_scope(platform.devices.size());
  if (scope.devices < platform.devices.size() && !command.quiet)
    print_stderr("checking the first {} of {} {} devices\n", scope.devices, platform.devices.size(), platform.kind);
  // One worker for each kind, so that a crash does not affect the other kinds.
  Supervisor supervisor(supervisor_settings());
  LinkMeasurements links = measure_links_in_worker(supervisor, device_kind(platform.kind), scope,
                                  [&](const std::string& what) {
                                    if (command.verbose) print_stderr("{} devices: {}\n", platform.kind, what);
                                  });
  supervisor.end_worker();
  const auto add = [&](const std::vector<std::string>& problems) {
    for (const std::string& problem : problems)
      if (std::find(links.problems.begin(), links.problems.end(), problem) == links.problems.end())
        links.problems.push_back(problem);
  };
  add(slow_links(links));
  add(problems_of(platform));
  // Again after the load: a device may have become hot.
  ProbeClient probe(supervisor_settings());
  for (const PlatformSummary& after : probe.platforms())
    if (after.kind == platform.kind) add(problems_of(after));
  return links;
}

constexpr char kIntact[] = "no problem found: all data arrived intact, and no device or link is far slower than comparable ones";

void print_problems(const std::vector<std::string>& problems) {
  fmt::print("\n");
  for (const std::string& problem : problems) fmt::print("PROBLEM  {}\n", problem);
  if (problems.empty()) fmt::print("{}\n", kIntact);
}

// Those of --hosts, or those of the Slurm allocation in which this process runs; one or none: this machine alone.
HostsConfig asked_hosts(const Command& command) {
  HostsConfig hosts;
  if (!command.hosts.empty()) hosts.names = comma_list(command.hosts);
  return hosts.names.empty() && !is_in_allocation() ? hosts : resolved(hosts);
}

// Without --hosts, an allocation of several hosts is no reason to fail where they cannot be used together.
std::optional<HostSurvey> survey(const Command& command, bool measures) {
  try {
    const HostsConfig hosts = asked_hosts(command);
    if (hosts.names.size() < 2) return std::nullopt;
    return survey_hosts(hosts, supervisor_settings(), measures, [&](const std::string& what) {
      if (command.verbose) print_stderr("{}\n", what);
    });
  } catch (const Error& error) {
    if (!command.hosts.empty()) throw;
    print_stderr("warning: only this machine, because the hosts of the Slurm allocation cannot be used: {}\n", error.what());
    return std::nullopt;
  }
}

std::vector<std::string> problems_of(const HostSurvey& survey) {
  std::vector<std::string> names, problems;
  for (const SurveyedHost& host : survey.hosts) {
    names.push_back(host.name);
    const auto add = [&](const std::vector<std::string>& found) {
      for (const std::string& problem : found) problems.push_back(fmt::format("{} on host {}", plain(problem), host.name));
    };
    for (const PlatformSummary& platform : host.platforms) add(problems_of(platform));
    for (const LinkMeasurements& links : host.links) add(links.problems), add(slow_links(links));
  }
  const std::vector<std::string> between = problems_of(survey.between, names);
  problems.insert(problems.end(), between.begin(), between.end());
  return problems;
}

nlohmann::json json_of(const HostSurvey& survey) {
  nlohmann::json hosts = nlohmann::json::array(), between = nlohmann::json::array();
  for (const SurveyedHost& host : survey.hosts) {
    nlohmann::json platforms = nlohmann::json::array();
    for (const PlatformSummary& platform : host.platforms) {
      platforms.push_back(json_of(platform));
      for (const LinkMeasurements& links : host.links)
        if (links.kind == platform.kind) platforms.back()["links"] = links;
    }
    hosts.push_back({{"host", host.name}, {"platforms", platforms}});
  }
  for (const HostPairLink& link : survey.between) {
    nlohmann::json named = link;
    named["from"] = survey.hosts[link.from].name, named["to"] = survey.hosts[link.to].name;
    between.push_back(named);
  }
  return {{"transport", survey.transport}, {"hosts", hosts}, {"between", between}};
}

void print_between(const HostSurvey& survey, const std::string& title, double HostPairLink::*figure, double unit) {
  fmt::print("\nhosts: {}, from row to column\n", title);
  std::vector<TextRow> lines(survey.hosts.size() + 1);
  lines[0].push_back("");
  for (std::size_t from = 0; from < survey.hosts.size(); ++from) {
    lines[0].push_back(survey.hosts[from].name);
    lines[from + 1] = TextRow(survey.hosts.size() + 1, "-");
    lines[from + 1][0] = survey.hosts[from].name;
  }
  for (const HostPairLink& link : survey.between)
    lines[link.from + 1][link.to + 1] = fmt::format("{:.3g}{}", link.*figure / unit, link.intact ? "" : "!");
  print_table(lines);
}

bool print_survey(const HostSurvey& survey, const Command& command) {
  bool is_usable = false;
  for (const SurveyedHost& host : survey.hosts)
    for (const PlatformSummary& platform : host.platforms) is_usable |= !platform.devices.empty();
  if (command.json) {
    print(json_of(survey));
    return is_usable;
  }
  for (const SurveyedHost& host : survey.hosts) {
    fmt::print("{}{}\n", &host == &survey.hosts.front() ? "" : "\n", host.name);
    for (const PlatformSummary& platform : host.platforms) {
      print_platform(platform);
      for (const std::string& problem : problems_of(platform)) fmt::print("{:<8} {}\n", "", problem);
    }
    for (const LinkMeasurements& links : host.links) print_links(links);
  }
  fmt::print("\nbetween hosts: {}\n", survey.transport);
  if (!survey.between.empty()) {
    print_between(survey, "GB/s", &HostPairLink::bytes_per_second, 1e9);
    print_between(survey, "us of a small message", &HostPairLink::seconds_small, 1e-6);
  }
  return is_usable;
}

}  // namespace

int list_devices(const Command& command) {
  if (const std::optional<HostSurvey> found = survey(command, false)) return print_survey(*found, command) ? kDone : kEnvironment;
  ProbeClient probe(supervisor_settings());
  bool is_usable = false;
  nlohmann::json all = nlohmann::json::array();
  for (const PlatformSummary& platform : probe.platforms()) {
    is_usable |= !platform.devices.empty();
    all.push_back(json_of(platform));
    if (command.json) continue;
    print_platform(platform);
    for (const std::string& problem : problems_of(platform)) fmt::print("{:<8} {}\n", "", problem);
  }
  if (command.json) print(all);
  return is_usable ? kDone : kEnvironment;
}

int run_doctor(const Command& command) {
  std::vector<std::string> problems;
  if (const std::optional<HostSurvey> found = survey(command, true)) {
    problems = problems_of(*found);
    if (!print_survey(*found, command)) return kEnvironment;
    if (!command.json) print_problems(problems);
    return problems.empty() ? kDone : kProblemFound;
  }
  bool is_usable = false;
  nlohmann::json all = nlohmann::json::array();
  ProbeClient probe(supervisor_settings());
  for (const PlatformSummary& platform : probe.platforms()) {
    if (!command.json) print_platform(platform);
    all.push_back(json_of(platform));
    if (platform.devices.empty()) continue;
    is_usable = true;
    const LinkMeasurements links = measure_platform(platform, command);
    all.back()["links"] = links;
    problems.insert(problems.end(), links.problems.begin(), links.problems.end());
    if (!command.json) print_links(links);
  }
  if (command.json) {
    print(all);
  } else {
    print_problems(problems);
  }
  if (!is_usable) return kEnvironment;
  return problems.empty() ? kDone : kProblemFound;
}

}  // namespace mgcompare
