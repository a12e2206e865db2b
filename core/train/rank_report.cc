#include "train/rank_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "train/rank_placement.h"

namespace mgcompare {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Tally, loss, correct, predictions)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LearnedSamples, computed, unread, positions, squares, passed)

void to_json(nlohmann::json& json, const RankEpoch& epoch) {
  json = {{"trained", epoch.trained},
          {"tested", epoch.tested},
          {"learned", epoch.learned},
          {"settled_fingerprint", epoch.settled_fingerprint},
          {"exclusive_sections", epoch.exclusive_sections},
          {"was_moved", epoch.was_moved}};
}

void from_json(const nlohmann::json& json, RankEpoch& epoch) {
  json.at("trained").get_to(epoch.trained);
  json.at("tested").get_to(epoch.tested);
  json.at("learned").get_to(epoch.learned);
  json.at("settled_fingerprint").get_to(epoch.settled_fingerprint);
  json.at("exclusive_sections").get_to(epoch.exclusive_sections);
  json.at("was_moved").get_to(epoch.was_moved);
}

// A Result has the parts of a rank in JSON already.
void to_json(nlohmann::json& json, const HostReport& report) {
  Result ranks;
  ranks.ranks = report.times;
  ranks.metrics = report.metrics;
  ranks.placement = report.placement;
  json = {{"ranks", ranks},
          {"bytes", report.bytes},
          {"steps", report.steps},
          {"peak_memory", report.peak_memory},
          {"strategy_updates", report.strategy_updates},
          {"changed_settings", report.changed_settings}};
}

void from_json(const nlohmann::json& json, HostReport& report) {
  auto ranks = json.at("ranks").get<Result>();
  report.times = std::move(ranks.ranks);
  report.metrics = std::move(ranks.metrics);
  report.placement = std::move(ranks.placement);
  json.at("bytes").get_to(report.bytes);
  json.at("steps").get_to(report.steps);
  json.at("peak_memory").get_to(report.peak_memory);
  json.at("strategy_updates").get_to(report.strategy_updates);
  json.at("changed_settings").get_to(report.changed_settings);
}

void fail_unmatched(std::size_t host) {
  throw Error(fmt::format("the strategy made other calls of its group on host number {} than on the first host; make the same collective calls on every rank",
                          host + 1));
}

std::vector<RankEpoch> rank_epochs(const std::vector<Rank>& ranks) {
  std::vector<RankEpoch> epochs;
  for (const Rank& rank : ranks)
    epochs.push_back({rank.epoch_tally, rank.test_tally, rank.learned, rank.settled_fingerprint, rank.exclusive_sections, rank.was_moved});
  return epochs;
}

HostReport host_report(const TrainingState& state) {
  HostReport report;
  for (std::size_t number = 0; number < state.ranks.size(); ++number) {
    const Rank& rank = state.ranks[number];
    report.times.push_back(rank.times);
    report.metrics.push_back(rank.replica->metrics());
    report.bytes += static_cast<double>(rank.bytes);
    report.steps += rank.step_seconds.size();
    report.peak_memory = std::max(report.peak_memory, state.request.platform->peak_memory(rank.device->index()));
    report.strategy_updates += rank.replica->strategy_updates();
    if (report.changed_settings.empty() && !rank.changed_settings.empty())
      report.changed_settings = fmt::format("{} of rank {}", rank.changed_settings, state.global(number));
  }
  report.placement = placement_of(state.ranks, state.trial);
  return report;
}

HostReport merged(const std::vector<HostReport>& hosts) {
  HostReport all;
  for (const HostReport& host : hosts) {
    all.times.insert(all.times.end(), host.times.begin(), host.times.end());
    all.metrics.insert(all.metrics.end(), host.metrics.begin(), host.metrics.end());
    all.placement.insert(all.placement.end(), host.placement.begin(), host.placement.end());
    all.bytes += host.bytes;
    all.steps += host.steps;
    all.peak_memory = std::max(all.peak_memory, host.peak_memory);
    all.strategy_updates += host.strategy_updates;
    if (all.changed_settings.empty()) all.changed_settings = host.changed_settings;
  }
  return all;
}

}  // namespace mgcompare
