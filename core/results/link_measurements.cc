#include "results/link_measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/median.h"
#include "mgcompare/error.h"

namespace mgcompare {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceFigures, device, intact, bytes_per_second_to_device, bytes_per_second_to_host,
                                   seconds_small_to_device, flops_per_second)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PairLink, from, to, direct, intact, bytes_per_second, seconds_small)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AllReduceTime, devices, bytes, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CollectiveTime, call, devices, bytes, seconds)

void to_json(nlohmann::json& json, const HostPairLink& link) {
  json = {{"from", link.from}, {"to", link.to}, {"intact", link.intact}, {"bytes_per_second", link.bytes_per_second}, {"seconds_small", link.seconds_small}};
}

void from_json(const nlohmann::json& json, HostPairLink& link) {
  json.at("from").get_to(link.from), json.at("to").get_to(link.to), json.at("intact").get_to(link.intact);
  json.at("bytes_per_second").get_to(link.bytes_per_second), json.at("seconds_small").get_to(link.seconds_small);
}

namespace {

constexpr std::size_t kMostDevices = 16;

// A value below this share of the median of its peers is reported as slow.
constexpr double kSlowLink = 0.5, kSlowDevice = 0.7;

struct Slow {
  std::size_t place;
  double found, usual;
};

// The elements whose value is below `part` of the median of all other comparable elements.
template <class T, class Figure, class Alike>
std::vector<Slow> slow_ones(const std::vector<T>& all, double part, Figure figure, Alike alike) {
  std::vector<Slow> slow;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<double> others;
    for (std::size_t k = 0; k < all.size(); ++k)
      if (k != i && alike(all[k], all[i]) && all[k].*figure > 0) others.push_back(all[k].*figure);
    const double found = all[i].*figure, usual = median(others);
    if (found > 0 && found < part * usual) slow.push_back({i, found, usual});
  }
  return slow;
}

std::vector<Slow> slow_pairs(const LinkMeasurements& links) {
  // Peer-to-peer copies are not comparable with copies through the host.
  return slow_ones(links.pairs, kSlowLink, &PairLink::bytes_per_second,
                   [](const PairLink& one, const PairLink& other) { return one.direct == other.direct; });
}

std::vector<Slow> slow_devices(const LinkMeasurements& links, double part, double DeviceFigures::*figure) {
  return slow_ones(links.devices, part, figure, [](const DeviceFigures&, const DeviceFigures&) { return true; });
}

}  // namespace

const std::vector<std::string>& timed_calls() {
  static const std::vector<std::string> names = {"all_reduce", "reduce", "broadcast", "gather", "scatter", "all_gather", "reduce_scatter", "all_to_all"};
  return names;
}

DoctorScope whole_scope(std::size_t devices) {
  DoctorScope scope{std::min(devices, kMostDevices), {}, false};
  for (std::size_t count = 2; count < scope.devices; count *= 2) scope.groups.push_back(count);
  if (scope.devices > 1) scope.groups.push_back(scope.devices);
  return scope;
}

std::vector<std::string> problems_of(const std::vector<HostPairLink>& links, const std::vector<std::string>& hosts) {
  std::vector<std::string> sentences;
  for (const HostPairLink& link : links)
    if (!link.intact)
      sentences.push_back(fmt::format("data sent from host {} to host {} arrive damaged: training on these hosts together gives wrong results", hosts[link.from],
                                      hosts[link.to]));
  for (const Slow& slow : slow_ones(links, kSlowLink, &HostPairLink::bytes_per_second, [](const HostPairLink&, const HostPairLink&) { return true; }))
    sentences.push_back(fmt::format("the link from host {} to host {} moves {:.3g} GB/s; the median of the other links is {:.3g} GB/s",
                                    hosts[links[slow.place].from], hosts[links[slow.place].to], slow.found / 1e9, slow.usual / 1e9));
  return sentences;
}

std::vector<std::string> broken_links(const LinkMeasurements& links) {
  std::vector<std::string> broken;
  for (const DeviceFigures& device : links.devices) {
    if (!device.intact)
      broken.push_back(
          fmt::format("data copied to {0}:{1} and back are damaged: exclude the device with "
                      "CUDA_VISIBLE_DEVICES and have it repaired",
                      links.kind, device.device));
  }
  for (const PairLink& pair : links.pairs) {
    if (!pair.intact)
      broken.push_back(
          fmt::format("data copied from {0}:{1} to {0}:{2} arrive damaged: training on these devices together gives "
                      "wrong results; the usual cause is an IOMMU or PCIe ACS that redirects peer-to-peer copies",
                      links.kind, pair.from, pair.to));
  }
  for (const std::size_t devices : links.wrong_sums)
    broken.push_back(fmt::format("an all-reduce over {} {} devices returns wrong sums: training on them together gives wrong results",
                                 devices, links.kind));
  return broken;
}

Suspects suspects_of(const LinkMeasurements& links) {
  Suspects suspects;
  for (const Slow& slow : slow_pairs(links)) suspects.pairs.push_back(slow.place);
  std::set<std::size_t> devices;
  for (const auto& [figure, part] : {std::pair(&DeviceFigures::bytes_per_second_to_device, kSlowLink),
                                     std::pair(&DeviceFigures::bytes_per_second_to_host, kSlowLink),
                                     std::pair(&DeviceFigures::flops_per_second, kSlowDevice)})
    for (const Slow& slow : slow_devices(links, part, figure)) devices.insert(slow.place);
  suspects.devices.assign(devices.begin(), devices.end());
  return suspects;
}

std::vector<std::string> slow_links(const LinkMeasurements& links) {
  std::vector<std::string> sentences;
  const auto link = [&](const std::string& name, const Slow& slow) {
    sentences.push_back(
        fmt::format("{} moves {:.3g} GB/s; the median of comparable links is {:.3g} GB/s", name, slow.found / 1e9, slow.usual / 1e9));
  };
  const auto host_link = [&](double DeviceFigures::*figure, const char* way) {
    for (const Slow& slow : slow_devices(links, kSlowLink, figure))
      link(fmt::format("the link {} {}:{}", way, links.kind, links.devices[slow.place].device), slow);
  };
  for (const Slow& slow : slow_pairs(links)) {
    const PairLink& pair = links.pairs[slow.place];
    link(fmt::format("the link from {0}:{1} to {0}:{2}", links.kind, pair.from, pair.to), slow);
  }
  host_link(&DeviceFigures::bytes_per_second_to_device, "from the host to");
  host_link(&DeviceFigures::bytes_per_second_to_host, "to the host from");
  for (const Slow& slow : slow_devices(links, kSlowDevice, &DeviceFigures::flops_per_second))
    sentences.push_back(fmt::format("{}:{} computes {:.3g} Gflop/s; the median of the other devices is {:.3g} Gflop/s", links.kind,
                                    links.devices[slow.place].device, slow.found / 1e9, slow.usual / 1e9));
  return sentences;
}

void to_json(nlohmann::json& json, const LinkMeasurements& links) {
  json = {{"kind", links.kind},
          {"devices", links.devices},
          {"pairs", links.pairs},
          {"all_reduces", links.all_reduces},
          {"others", links.others},
          {"wrong_sums", links.wrong_sums},
          {"problems", links.problems}};
}

void from_json(const nlohmann::json& json, LinkMeasurements& links) {
  try {
    links.kind = json.at("kind").get<std::string>();
    json.at("devices").get_to(links.devices);
    json.at("pairs").get_to(links.pairs);
    json.at("all_reduces").get_to(links.all_reduces);
    if (json.contains("others")) json.at("others").get_to(links.others);  // older versions measured none
    json.at("wrong_sums").get_to(links.wrong_sums);
    json.at("problems").get_to(links.problems);
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("link measurements cannot be read: {}; another version wrote them", error.what()));
  }
}

}  // namespace mgcompare
