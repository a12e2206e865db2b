#include "reports/exchange.h"

#include <algorithm>
#include <set>
#include <string>

namespace mgcompare {
namespace {

// The group calls of a row in a step.
struct Calls {
  std::set<std::string> ways;       // "all_reduce over the links between devices"
  double count = 1, bytes = 0;      // of a rank, mean

  double bytes_each() const { return bytes / count; }
};

Calls calls_of(const Cell& cell) {
  Calls calls;
  calls.bytes = cell.bytes_per_step.median;
  double count = 0;
  const std::vector<RankPlacement>& ranks = cell.done.front()->result.placement;
  for (const RankPlacement& rank : ranks) {
    for (const Sent& sent : rank.sent) {
      calls.ways.insert(sent.call + " over " + sent.over);
      count += sent.calls / static_cast<double>(ranks.size());
    }
  }
  if (count > 0) calls.count = count;
  return calls;
}

// Rows on the same kind of device with the same calls. Rows that do not exchange in every step are left out: their mean over
// all steps does not give the time of a call. Overlapped exchange counts too.
std::vector<ExchangeTime> like_times(const Comparison& comparison, const Cell& cell, const Calls& calls) {
  std::vector<ExchangeTime> times;
  for (const Cell& other : comparison.cells) {
    const TrialKey& trial = other.trial();
    if (other.done.empty() || trial.device_kind != cell.trial().device_kind || trial.ranks_per_device != 1) continue;
    if (trial.devices < 2 || !other.breakdown.reliable()) continue;
    const Calls its = calls_of(other);
    const double seconds = other.breakdown.exchange + other.breakdown.overlapped;
    if (its.ways != calls.ways || its.count < 1 || !(its.bytes > 0) || !(seconds > 0)) continue;
    times.push_back({its.bytes_each(), trial.devices, seconds / its.count});
  }
  return times;
}

CallTime time_on(const LinkModel& link, const Cell& cell, double bytes, bool is_bare) {
  const double latency = link.latency_seconds(cell.trial().devices, bytes);
  return {bytes, latency, link.seconds(cell.trial().devices, bytes) - latency, is_bare};
}

}  // namespace

std::vector<ExchangeTime> exchange_times(const std::vector<const Cell*>& cells) {
  std::vector<ExchangeTime> times;
  for (const Cell* cell : cells) {
    if (cell->trial().devices < 2 || !cell->breakdown.reliable() || !(cell->breakdown.exchange > 0)) continue;
    if (cell->bytes_per_step.median > 0)
      times.push_back({cell->bytes_per_step.median, cell->trial().devices, cell->breakdown.exchange});
  }
  return times;
}

bool only_reduces(const Cell& cell) {
  double reduced = 0, all = 0;
  for (const RankPlacement& rank : cell.done.front()->result.placement) {
    for (const Sent& sent : rank.sent) {
      all += sent.bytes;
      if (sent.call == "all_reduce") reduced += sent.bytes;
    }
  }
  return all > 0 && reduced > 0.99 * all;
}

std::vector<ExchangeTime> bare_times(const Run& run, DeviceKind kind, std::size_t below) {
  for (const LinkMeasurements& links : run.info.links)
    if (links.kind == to_string(kind) && links.problems.empty()) return exchange_times(links, below);
  return {};
}

std::optional<CallTime> call_time(const Comparison& comparison, const Cell& cell) {
  const Calls calls = calls_of(cell);
  if (!(calls.bytes > 0)) return std::nullopt;
  const std::vector<ExchangeTime> bare = bare_times(*comparison.run, cell.trial().device_kind);
  if (!bare.empty() && only_reduces(cell)) return time_on(fit_link(bare), cell, calls.bytes_each(), true);
  const std::vector<ExchangeTime> times = like_times(comparison, cell, calls);
  const auto by_bytes = [](const ExchangeTime& a, const ExchangeTime& b) { return a.bytes < b.bytes; };
  const auto [least, most] = std::minmax_element(times.begin(), times.end(), by_bytes);
  if (times.empty() || !(most->bytes > 2 * least->bytes)) return std::nullopt;
  return time_on(fit_link(times), cell, calls.bytes_each(), false);
}

}  // namespace mgcompare
