#include "reports/exchange.h"

#include <algorithm>
#include <set>
#include <string>

#include "mgcompare/error.h"

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

// Rows that do not exchange in every step are left out: their mean over all steps does not give the time of a call. Overlapped
// exchange counts too.
std::optional<ExchangeTime> mean_time(const Cell& cell, const Calls& calls) {
  if (cell.trial().devices < 2 || !cell.breakdown.reliable()) return std::nullopt;
  const double seconds = cell.breakdown.exchange + cell.breakdown.overlapped;
  if (calls.count < 1 || !(calls.bytes > 0) || !(seconds > 0)) return std::nullopt;
  return ExchangeTime{calls.bytes_each(), cell.trial().devices, seconds / calls.count};
}

// Absent without usable times.
std::optional<LinkModel> fitted_on(const std::vector<ExchangeTime>& times) {
  try {
    return fit_link(times);
  } catch (const Error&) {
    return std::nullopt;
  }
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

double calls_per_step(const Cell& cell) { return calls_of(cell).count; }

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

CallTimes::CallTimes(const Comparison& comparison) {
  std::map<Way, std::vector<ExchangeTime>> times;
  for (const Cell& cell : comparison.cells) {
    const DeviceKind kind = cell.trial().device_kind;
    if (!bare_.contains(kind)) bare_[kind] = fitted_on(bare_times(*comparison.run, kind));
    if (cell.done.empty() || cell.trial().ranks_per_device != 1 || cell.trial().hosts > 1) continue;
    const Calls calls = calls_of(cell);
    if (const std::optional<ExchangeTime> time = mean_time(cell, calls)) times[{kind, calls.ways}].push_back(*time);
  }
  const auto by_bytes = [](const ExchangeTime& a, const ExchangeTime& b) { return a.bytes < b.bytes; };
  for (const auto& [way, all] : times) {
    const auto [least, most] = std::minmax_element(all.begin(), all.end(), by_bytes);
    if (most->bytes > 2 * least->bytes) fitted_[way] = fitted_on(all);
  }
}

std::optional<CallTime> CallTimes::of(const Cell& cell) const {
  // The times are those of the links within this machine.
  if (cell.trial().hosts > 1) return std::nullopt;
  const Calls calls = calls_of(cell);
  if (!(calls.bytes > 0)) return std::nullopt;
  const auto bare = bare_.find(cell.trial().device_kind);
  if (bare != bare_.end() && bare->second && only_reduces(cell)) return time_on(*bare->second, cell, calls.bytes_each(), true);
  const auto fitted = fitted_.find({cell.trial().device_kind, calls.ways});
  if (fitted == fitted_.end() || !fitted->second) return std::nullopt;
  return time_on(*fitted->second, cell, calls.bytes_each(), false);
}

}  // namespace mgcompare
