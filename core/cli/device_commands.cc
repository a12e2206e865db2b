#include "cli/device_commands.h"
#include "base/print.h"
#include "base/text.h"
#include "base/text_table.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "services/doctor_service.h"
#include "results/link_measurements.h"
#include "process/message.h"
#include "plan/trial.h"

namespace mgcompare {
namespace {

// The number of pairs grows with the square of this.
constexpr std::size_t kMaxDevices = 16;

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
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
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
  const auto microseconds = [](double seconds) { return fmt::format("{:.3g}", seconds * 1e6); };
  print_matrix(links, "GB/s", &DeviceFigures::bytes_per_second_to_device, &DeviceFigures::bytes_per_second_to_host,
               &PairLink::bytes_per_second, rate);
  print_matrix(links, "us of a small queued copy", &DeviceFigures::seconds_small_to_device, nullptr,
               &PairLink::seconds_small, microseconds);
  if (std::any_of(links.pairs.begin(), links.pairs.end(), [](const PairLink& pair) { return !pair.direct; }))
    fmt::print("  * through the host: these devices cannot access each other's memory\n");
  print_all_reduces(links);
  fmt::print("\n{} devices: single-precision matrix product\n", links.kind);
  for (const DeviceFigures& device : links.devices)
    fmt::print("  {}:{}  {:.3g} Gflop/s\n", links.kind, device.device, device.flops_per_second / 1e9);
}

// 2, 4, 8, ... and all devices.
std::vector<std::size_t> groups_up_to(std::size_t devices) {
  std::vector<std::size_t> groups;
  for (std::size_t count = 2; count < devices; count *= 2) groups.push_back(count);
  if (devices > 1) groups.push_back(devices);
  return groups;
}

LinkMeasurements measure_platform(const PlatformSummary& platform, const Command& command) {
  const std::size_t devices = std::min(platform.devices.size(), kMaxDevices);
  if (devices < platform.devices.size() && !command.quiet)
    print_stderr("checking the first {} of {} {} devices\n", devices, platform.devices.size(), platform.kind);
  // One worker for each kind, so that a crash does not affect the other kinds.
  Supervisor supervisor(supervisor_settings());
  LinkMeasurements links = measure_links_in_worker(supervisor, device_kind(platform.kind), {devices, groups_up_to(devices), false},
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

}  // namespace

int list_devices(const Command& command) {
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
    fmt::print("\n");
    for (const std::string& problem : problems) fmt::print("PROBLEM  {}\n", problem);
    if (problems.empty()) fmt::print("no problem found: all data arrived intact, and no device or link is far slower than comparable ones\n");
  }
  if (!is_usable) return kEnvironment;
  return problems.empty() ? kDone : kProblemFound;
}

}  // namespace mgcompare
