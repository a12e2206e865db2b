#include "links.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "mgcompare/error.h"

namespace mgcompare {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceFigures, device, intact, bytes_per_second_to_device, bytes_per_second_to_host,
                                   seconds_small_to_device, flops_per_second)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PairLink, from, to, direct, intact, bytes_per_second, seconds_small)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AllReduceTime, devices, bytes, seconds)

namespace {

// Below these parts of its peers' median a figure is not chance.
constexpr double kSlowLink = 0.5, kSlowDevice = 0.7;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Those whose figure is below `part` of the median of their peers': told with both figures.
template <class T, class Figure, class Tell>
void find_slow(const std::vector<T>& all, double part, Figure figure, Tell tell) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<double> others;
    for (std::size_t k = 0; k < all.size(); ++k)
      if (k != i && figure(all[k]) > 0) others.push_back(figure(all[k]));
    const double usual = median(others);
    if (figure(all[i]) > 0 && figure(all[i]) < part * usual) tell(all[i], figure(all[i]), usual);
  }
}

}  // namespace

std::vector<std::string> broken_links(const Links& links) {
  std::vector<std::string> broken;
  for (const DeviceFigures& device : links.devices) {
    if (!device.intact)
      broken.push_back(
          fmt::format("data copied to {0}:{1} and back are damaged: take the device out of use with "
                      "CUDA_VISIBLE_DEVICES and have it repaired",
                      links.kind, device.device));
  }
  for (const PairLink& pair : links.pairs) {
    if (!pair.intact)
      broken.push_back(
          fmt::format("data copied from {0}:{1} to {0}:{2} arrive damaged: what these devices train together "
                      "is wrong; the usual cause is an IOMMU or PCIe ACS that redirects peer-to-peer copies",
                      links.kind, pair.from, pair.to));
  }
  for (const std::size_t devices : links.wrong_sums)
    broken.push_back(fmt::format("an all-reduce over {} {} devices gives wrong sums: what they train together is wrong",
                                 devices, links.kind));
  return broken;
}

std::vector<std::string> slow_links(const Links& links) {
  std::vector<std::string> slow;
  const auto link = [&](const std::string& name, double found, double usual) {
    slow.push_back(fmt::format("{} moves {:.3g} GB/s, its like {:.3g} GB/s", name, found / 1e9, usual / 1e9));
  };
  for (const bool direct : {true, false}) {
    // Two kinds of way are not each other's like.
    std::vector<PairLink> pairs;
    std::copy_if(links.pairs.begin(), links.pairs.end(), std::back_inserter(pairs),
                 [&](const PairLink& pair) { return pair.direct == direct; });
    find_slow(pairs, kSlowLink, std::mem_fn(&PairLink::bytes_per_second),
              [&](const PairLink& pair, double found, double usual) {
                link(fmt::format("the link from {0}:{1} to {0}:{2}", links.kind, pair.from, pair.to), found, usual);
              });
  }
  const auto host_link = [&](auto figure, const char* way) {
    find_slow(links.devices, kSlowLink, std::mem_fn(figure),
              [&](const DeviceFigures& device, double found, double usual) {
                link(fmt::format("the link {} {}:{}", way, links.kind, device.device), found, usual);
              });
  };
  host_link(&DeviceFigures::bytes_per_second_to_device, "from the host to");
  host_link(&DeviceFigures::bytes_per_second_to_host, "to the host from");
  find_slow(links.devices, kSlowDevice, std::mem_fn(&DeviceFigures::flops_per_second),
            [&](const DeviceFigures& device, double found, double usual) {
              slow.push_back(fmt::format("{}:{} computes {:.3g} Gflop/s, its like {:.3g} Gflop/s", links.kind,
                                         device.device, found / 1e9, usual / 1e9));
            });
  return slow;
}

void to_json(nlohmann::json& json, const Links& links) {
  json = {{"kind", links.kind},
          {"devices", links.devices},
          {"pairs", links.pairs},
          {"all_reduces", links.all_reduces},
          {"wrong_sums", links.wrong_sums},
          {"problems", links.problems}};
}

void from_json(const nlohmann::json& json, Links& links) {
  try {
    links.kind = json.at("kind").get<std::string>();
    json.at("devices").get_to(links.devices);
    json.at("pairs").get_to(links.pairs);
    json.at("all_reduces").get_to(links.all_reduces);
    json.at("wrong_sums").get_to(links.wrong_sums);
    json.at("problems").get_to(links.problems);
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("figures of links cannot be read: {}; they were written by another version", error.what()));
  }
}

}  // namespace mgcompare
