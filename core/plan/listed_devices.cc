#include "plan/listed_devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "mgcompare/error.h"
#include "plan/trial.h"

namespace mgcompare {
namespace {

const PlatformSummary* platform_of(std::string_view kind, const std::vector<PlatformSummary>& platforms) {
  const auto found = std::find_if(platforms.begin(), platforms.end(), [&](const PlatformSummary& platform) { return platform.kind == kind; });
  return found == platforms.end() ? nullptr : &*found;
}

std::size_t number_of(std::string_view kind, const std::vector<PlatformSummary>& platforms) {
  const PlatformSummary* const platform = platform_of(kind, platforms);
  return platform == nullptr ? 0 : platform->devices.size();
}

std::string reason_of(std::string_view kind, const std::vector<PlatformSummary>& platforms) {
  const PlatformSummary* const platform = platform_of(kind, platforms);
  return platform == nullptr || platform->problem.empty() ? "" : ": " + platform->problem;
}

ListedDevices asked_for(std::string_view kind, std::size_t count, const std::vector<PlatformSummary>& platforms) {
  const std::size_t there = number_of(kind, platforms);
  return {device_kind(kind), count, 1, {}, count <= there ? "" : fmt::format("asked {}, have {}{}", count, there, reason_of(kind, platforms))};
}

ListedDevices chosen(std::string_view kind, const std::vector<int>& ids, const std::vector<PlatformSummary>& platforms) {
  const int there = static_cast<int>(number_of(kind, platforms));
  const auto missing = std::find_if(ids.begin(), ids.end(), [&](int id) { return id >= there; });
  ListedDevices devices{device_kind(kind), ids.size(), 1, ids, ""};
  if (missing != ids.end()) devices.unavailable = fmt::format("asked for {}:{}, have {} from 0 on{}", kind, *missing, there, reason_of(kind, platforms));
  return devices;
}

ListedDevices asked_on_hosts(std::string_view kind, const DevicesConfig& asked, const std::vector<PlatformSummary>& platforms, std::size_t hosts) {
  if (!asked.ids.empty()) return chosen(kind, asked.ids, platforms);
  ListedDevices devices = asked_for(kind, asked.count / asked.hosts, platforms);
  devices.count = asked.count;
  devices.hosts = asked.hosts;
  if (devices.unavailable.empty() && asked.hosts > 1 && asked.hosts > hosts)
    devices.unavailable = fmt::format("asked {} hosts, have {}; name them with --hosts or `hosts: {{names: [...]}}`", asked.hosts, std::max<std::size_t>(1, hosts));
  return devices;
}

}  // namespace

std::vector<ListedDevices> listed_devices(const ScalingConfig& scaling, const std::vector<PlatformSummary>& platforms, std::size_t hosts) {
  const std::string best = number_of("cuda", platforms) > 0 ? "cuda" : "cpu";
  std::vector<ListedDevices> list;
  if (scaling.automatic) {
    const std::size_t all = number_of(best, platforms);
    if (all == 0) throw Error("there is no device to train on" + reason_of("cpu", platforms) + reason_of("cuda", platforms));
    for (std::size_t count = 1; count < all; count *= 2) list.push_back({device_kind(best), count, 1, {}, ""});
    list.push_back({device_kind(best), all, 1, {}, ""});
    return list;
  }
  for (const DevicesConfig& asked : scaling.devices) {
    const ListedDevices devices = asked_on_hosts(asked.kind == "auto" ? best : asked.kind, asked, platforms, hosts);
    const bool known = std::any_of(list.begin(), list.end(), [&](const ListedDevices& other) {
      return other.kind == devices.kind && other.count == devices.count && other.hosts == devices.hosts && other.ids == devices.ids;
    });
    if (!known && (devices.unavailable.empty() || !asked.if_present)) list.push_back(devices);
  }
  if (list.empty())
    throw Error(fmt::format("'scaling.devices' has only counts above the {} {} devices of this machine; add a smaller one", number_of(best, platforms), best));
  return list;
}

std::vector<ListedDevices> single_devices(const std::vector<ListedDevices>& list, const std::vector<PlatformSummary>& platforms) {
  std::vector<ListedDevices> singles;
  const auto add = [&](const ListedDevices& single) {
    const auto is_same = [&](const ListedDevices& other) { return other.kind == single.kind && other.ids == single.ids; };
    if (std::none_of(singles.begin(), singles.end(), is_same)) singles.push_back(single);
  };
  for (const ListedDevices& some : list) {
    const auto is_of_kind = [&](const ListedDevices& other) { return other.kind == some.kind; };
    const bool all_chosen = std::none_of(list.begin(), list.end(), [&](const ListedDevices& other) { return is_of_kind(other) && other.ids.empty(); });
    if (!all_chosen) add(asked_for(to_string(some.kind), 1, platforms));
    if (some.ids.size() == 1) add(some);
    else if (all_chosen && std::none_of(singles.begin(), singles.end(), is_of_kind)) add(chosen(to_string(some.kind), {some.ids.front()}, platforms));
  }
  return singles;
}

}  // namespace mgcompare
