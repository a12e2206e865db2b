#include "reports/rehearsed_step.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/median.h"
#include "mgcompare/error.h"
#include "plan/listed_batch.h"
#include "reports/exchange.h"

namespace mgcompare {
namespace {

bool rehearses(const TrialKey& rehearsal, const TrialKey& row) {
  return rehearsal.strategy.label == row.strategy.label && rehearsal.variant == row.variant && rehearsal.network == row.network &&
         rehearsal.device_kind == row.device_kind && rehearsal.scaling == row.scaling && listed_batch(rehearsal) == listed_batch(row);
}

// On one number of devices. Between two sizes the logarithms are interpolated.
double between(const std::vector<ExchangeTime>& times, double bytes) {
  if (times.size() == 1 || bytes <= times.front().bytes) return times.front().seconds;
  auto upper = std::find_if(times.begin(), times.end(), [&](const ExchangeTime& time) { return time.bytes >= bytes; });
  // Beyond the largest size the bandwidth is that between the last two.
  if (upper == times.end()) {
    const ExchangeTime &last = times.back(), &former = times[times.size() - 2];
    const double seconds_a_byte = std::max(0.0, last.seconds - former.seconds) / (last.bytes - former.bytes);
    return last.seconds + seconds_a_byte * (bytes - last.bytes);
  }
  const ExchangeTime& lower = *(upper - 1);
  const double share = std::log(bytes / lower.bytes) / std::log(upper->bytes / lower.bytes);
  return lower.seconds * std::pow(upper->seconds / lower.seconds, share);
}

// Seconds by which exchanges prolong the steps.
double exposed(const std::vector<ExchangeCall>& calls, std::size_t devices, const ExchangeCost& cost) {
  double late = 0;                  // of all work
  double free = 0, join = 0;        // when the last exchange and what follows it end, and who waits for them
  for (const ExchangeCall& call : calls) {
    if (call.begin >= join) late = std::max(late, free - join);
    free = std::max(call.begin + late, free) + cost.seconds(devices, {call.call, call.bytes, call.payload}) + call.after;
    join = call.join;
  }
  return calls.empty() ? 0 : std::max(late, free - join);
}

// Where it is not known when exchanges begin, nothing hides them: on a device whose calls return when their work is done, nothing does.
double blocking(const Result& result, std::size_t devices, const ExchangeCost& cost) {
  double seconds = 0;
  for (const Sent& sent : result.placement.front().sent)
    if (sent.over == kLinksBetweenDevices && sent.calls > 0 && (sent.bytes > 0 || sent.payload > 0))
      seconds += sent.calls * cost.seconds(devices, {sent.payload > 0 ? sent.call : "", sent.bytes / sent.calls, sent.payload / sent.calls});
  return seconds;
}

double step_of(const Result& result, std::size_t devices, const ExchangeCost& cost) {
  // The first steps of a training take longer than others, and an epoch of a rehearsal is short.
  const auto steps = static_cast<double>(result.steps) / static_cast<double>(std::max<std::size_t>(1, result.epochs.size()));
  const double seconds = result.epochs.empty() ? result.seconds_training / steps : result.epochs.back().seconds_training / steps;
  if (result.exchange_calls.empty() || result.exchange_call_steps == 0) {
    const double exchange = blocking(result, devices, cost);
    return seconds + exchange + (exchange > 0 ? result.seconds_late : 0);
  }
  return seconds + exposed(result.exchange_calls, devices, cost) / static_cast<double>(result.exchange_call_steps) + result.seconds_late;
}

}  // namespace

Rehearsals rehearsals_of(const Comparison& comparison, const Cell& like) {
  Rehearsals found;
  if (like.trial().ranks_per_device != 1 || like.trial().hosts != 1) return found;
  for (const Row* const row : comparison.rehearsals)
    if (rehearses(row->trial, like.trial()) && row->result.steps > 0 && !row->result.placement.empty()) found[row->trial.devices].push_back(row);
  // Of one rank alone it is not known how long the others take.
  for (const Row* const failed : comparison.failed_rehearsals) {
    if (!rehearses(failed->trial, like.trial())) continue;
    const auto rows = found.find(failed->trial.devices);
    if (rows == found.end()) continue;
    const auto is_of_its_rank = [&](const Row* row) { return row->trial.rehearsed_rank == failed->trial.rehearsed_rank; };
    if (std::none_of(rows->second.begin(), rows->second.end(), is_of_its_rank)) found.erase(rows);
  }
  return found;
}

std::map<std::size_t, const Row*> failed_rehearsals_of(const Comparison& comparison, const Cell& like) {
  std::map<std::size_t, const Row*> found;
  for (const Row* const row : comparison.failed_rehearsals)
    if (rehearses(row->trial, like.trial())) found.emplace(row->trial.devices, row);
  return found;
}

ExchangeCost::ExchangeCost(const Run& run, DeviceKind kind, const std::optional<LinkModel>& link) : link_(link) {
  if (link) return;
  const std::vector<ExchangeTime> times = bare_times(run, kind);
  for (const ExchangeTime& time : times) timed_[time.devices].push_back(time);
  for (const LinkMeasurements& links : run.info.links)
    if (links.kind == to_string(kind) && links.problems.empty())
      for (const CollectiveTime& time : links.others)
        others_[time.call][time.devices].push_back({static_cast<double>(time.bytes), time.devices, time.seconds});
  const auto sort = [](Times& by_devices) {
    for (auto& [devices, some] : by_devices)
      std::sort(some.begin(), some.end(), [](const ExchangeTime& a, const ExchangeTime& b) { return a.bytes < b.bytes; });
  };
  sort(timed_);
  for (auto& [call, by_devices] : others_) sort(by_devices);
  if (!times.empty()) link_ = fit_link(times);
}

double ExchangeCost::all_reduce(std::size_t devices, double bytes) const {
  if (const auto timed = timed_.find(devices); timed != timed_.end()) return between(timed->second, bytes);
  if (!link_)
    throw Error(
        "no exchange was timed, because the machine has one device or its links have problems; name a link: `mgcompare predict DIR --link "
        "latency=5us,bandwidth=20GB/s`");
  return link_->seconds(devices, bytes);
}

double ExchangeCost::untimed(std::size_t devices, const Exchanged& exchanged) const {
  const bool is_whole = exchanged.call == "reduce" || exchanged.call == "broadcast";
  const auto n = static_cast<double>(devices);
  return all_reduce(devices, exchanged.payload * (is_whole ? 1 : (n - 1) / n));
}

double ExchangeCost::seconds(std::size_t devices, const Exchanged& exchanged) const {
  if (exchanged.call.empty() || exchanged.call == "all_reduce") return all_reduce(devices, exchanged.bytes);
  const auto found = others_.find(exchanged.call);
  if (found == others_.end() || found->second.empty()) return untimed(devices, exchanged);
  const Times& by_devices = found->second;
  if (const auto timed = by_devices.find(devices); timed != by_devices.end()) return between(timed->second, exchanged.payload);
  const auto& [most, times] = *by_devices.rbegin();
  return untimed(devices, exchanged) * between(times, exchanged.payload) / untimed(most, exchanged);
}

double median_step(const Cell& cell) {
  std::vector<double> steps;
  for (const Row* const row : cell.done)
    if (row->result.steps > 0) steps.push_back(row->result.seconds_training / static_cast<double>(row->result.steps));
  return median(std::move(steps));
}

double rehearsed_step(const std::vector<const Row*>& rehearsals, const ExchangeCost& cost) {
  std::map<std::size_t, std::vector<double>> by_rank;
  for (const Row* const row : rehearsals) by_rank[row->trial.rehearsed_rank].push_back(step_of(row->result, row->trial.devices, cost));
  double longest = 0;
  for (auto& [rank, steps] : by_rank) longest = std::max(longest, median(std::move(steps)));
  return longest;
}

}  // namespace mgcompare
