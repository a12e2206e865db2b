#pragma once

// What the ranks of every host report to the first host, which assembles the result: after each epoch one RankEpoch for each rank, and at
// the end one HostReport for each host. On one host nothing is copied to JSON.

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "mgcompare/error.h"
#include "platform/transport.h"
#include "results/placement.h"
#include "results/result.h"
#include "train/rank.h"
#include "train/training_state.h"

namespace mgcompare {

struct RankEpoch {
  Tally trained, tested;
  LearnedSamples learned;
  std::uint64_t settled_fingerprint = 0, exclusive_sections = 0;
  bool was_moved = false;
};

struct HostReport {
  std::vector<RankTimes> times;     // this and the next two: of each rank
  std::vector<std::map<std::string, MetricResult>> metrics;
  std::vector<RankPlacement> placement;
  double bytes = 0;
  std::uint64_t steps = 0, peak_memory = 0, strategy_updates = 0;
  std::string changed_settings;     // by a strategy, and of which rank
};

void to_json(nlohmann::json& json, const RankEpoch& epoch);
void from_json(const nlohmann::json& json, RankEpoch& epoch);
void to_json(nlohmann::json& json, const HostReport& report);
void from_json(const nlohmann::json& json, HostReport& report);

std::vector<RankEpoch> rank_epochs(const std::vector<Rank>& ranks);
// Call after the last step, before the strategies are destroyed.
HostReport host_report(const TrainingState& state);
HostReport merged(const std::vector<HostReport>& hosts);

// Exchanges of the strategies and of the program follow each other on one channel. So a host that makes more or fewer of the former than the
// first one sends them in place of its report. `host`: from 0.
[[noreturn]] void fail_unmatched(std::size_t host);

// Collective over hosts, on one thread of each. Returns those of all hosts on the first one, and nothing on the others.
template <class Report> std::vector<Report> gather_reports(const HostSpan& hosts, std::vector<Report> own) {
  if (hosts.count == 1) return own;
  std::vector<Report> all;
  const std::vector<std::string> texts = gather(hosts, nlohmann::json(own).dump());
  for (std::size_t host = 0; host < texts.size(); ++host) {
    try {
      for (Report& report : nlohmann::json::parse(texts[host]).get<std::vector<Report>>()) all.push_back(std::move(report));
    } catch (const nlohmann::json::exception&) {
      fail_unmatched(host);
    }
  }
  return all;
}

}  // namespace mgcompare
