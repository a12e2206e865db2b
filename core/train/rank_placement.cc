#include "train/rank_placement.h"

#include <fmt/format.h>

#include <algorithm>

namespace mgcompare {
namespace {

constexpr char kHost[] = "host", kFloat[] = "fp32";

std::uint64_t bytes_of(const std::vector<Vec>& vectors) {
  std::uint64_t bytes = 0;
  for (const Vec vector : vectors) bytes += vector.bytes();
  return bytes;
}

void keep(RankPlacement& place, const std::string& what, const std::string& where, std::uint64_t bytes, const std::string& type = "") {
  if (bytes > 0) place.kept.push_back({what, where, bytes, type});
}

void add_kept(RankPlacement& place, const Rank& rank) {
  RankReplica& replica = *rank.replica;
  keep(place, "weights and gradients", place.device, replica.weights().bytes() + replica.gradients().bytes(), kFloat);
  for (const Stored& stored : rank.network->stored()) keep(place, stored.what, place.device, stored.bytes, stored.type);
  keep(place, "statistics of batch normalisation", place.device, replica.buffers().bytes(), kFloat);
  if (replica.own_updates() > 0) keep(place, "optimiser state", place.device, bytes_of(replica.optimizer().state()), kFloat);
  for (const bool on_host : {false, true})
    keep(place, "state of the strategy's optimisers", on_host ? kHost : place.device,
         replica.strategy_state_bytes(on_host), kFloat);
  keep(place, "arrays of the strategy", place.device, replica.meter().held(false));
  keep(place, "arrays of the strategy", kHost, replica.meter().held(true));
  keep(place, "memory open to other ranks", place.device, rank.group->exposed_bytes());
}

void add_sent(RankPlacement& place, const Rank& rank, const Trial& trial) {
  const double steps = std::max<double>(1, static_cast<double>(rank.replica->issued_steps()));
  const std::string links = trial.devices > trial.hosts ? kLinksBetweenDevices : "the device's own memory";
  // Memory of a CPU device is host memory.
  const std::string host_link = trial.device_kind == DeviceKind::cpu ? "the host's memory" : "the host link";
  for (const Ledger::Entry& entry : rank.group->ledger().entries())
    place.sent.push_back(
        {std::string(entry.call), links, static_cast<double>(entry.calls) / steps, entry.bytes / steps, entry.payload / steps});
  for (const Ledger::Entry& entry : rank.group->host_ledger().entries())
    place.sent.push_back(
        {std::string(entry.call), "the links between hosts", static_cast<double>(entry.calls) / steps, entry.bytes / steps});
  for (const Ledger::Entry& entry : rank.replica->meter().ledger().entries())
    place.sent.push_back(
        {std::string(entry.call), host_link, static_cast<double>(entry.calls) / steps, entry.bytes / steps});
}

}  // namespace

std::vector<RankPlacement> placement_of(const std::vector<Rank>& ranks, const Trial& trial) {
  std::vector<RankPlacement> all;
  for (const Rank& rank : ranks) {
    RankPlacement place;
    place.device = fmt::format("{}:{}", to_string(trial.device_kind), rank.device->index());
    add_kept(place, rank);
    add_sent(place, rank, trial);
    place.own_kernels = rank.network->computed_without_library();
    all.push_back(std::move(place));
  }
  return all;
}

}  // namespace mgcompare
