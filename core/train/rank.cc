#include "train/rank.h"

namespace mgcompare {
namespace {

// Prefixes of the names in a checkpoint.
constexpr char kOwn[] = "rank/";
constexpr char kStrategy[] = "strategy/";

}  // namespace

void Rank::count_traffic(bool counting) {
  group->ledger().set_counting(counting);
  replica->meter().ledger().set_counting(counting);
}

Blobs save_rank(Rank& rank) {
  Blobs blobs;
  BlobArchive own(*rank.device, blobs, kOwn);
  for (const RankReplica::Saved& part : rank.replica->state()) {
    if (part.counter != nullptr) own.put_value(part.name, part.counter->updates());
    else if (part.on_host) own.put_host(part.name, part.data);
    else own.put(part.name, part.data);
  }
  own.put_vector("step_seconds", rank.step_seconds);
  own.put_vector("laps", rank.intervals.all());
  own.put_value("times", rank.times);
  own.put_value("bytes", rank.bytes);
  nlohmann::json figures = nlohmann::json::object();
  for (const auto& [name, m] : rank.replica->metrics()) figures[name] = {m.mean, m.least, m.most, m.last, m.count, m.counts};
  own.put_vector("metrics", nlohmann::json::to_cbor(figures));
  BlobArchive of_strategy(*rank.device, blobs, kStrategy);
  rank.strategy->save(of_strategy);
  return blobs;
}

void restore_rank(Rank& rank, Blobs& blobs) {
  BlobArchive own(*rank.device, blobs, kOwn);
  for (const RankReplica::Saved& part : rank.replica->state()) {
    if (part.counter != nullptr) {
      UpdateCount updates;
      own.get_value(part.name, updates);
      part.counter->set_updates(updates);
    } else if (part.on_host) {
      own.get_host(part.name, part.data);
    } else {
      own.get(part.name, part.data);
    }
  }
  own.get_vector("step_seconds", rank.step_seconds);
  std::vector<StepInterval> intervals;
  own.get_vector("laps", intervals);
  rank.intervals.set(std::move(intervals));
  own.get_value("times", rank.times);
  own.get_value("bytes", rank.bytes);
  std::vector<std::uint8_t> metrics;
  own.get_vector("metrics", metrics);
  std::map<std::string, MetricResult> figures;
  const nlohmann::json kept = nlohmann::json::from_cbor(metrics);
  for (const auto& [name, m] : kept.items())
    figures[name] = {m.at(0), m.at(1), m.at(2), m.at(3), m.at(4), m.at(5).get<std::vector<std::uint64_t>>()};
  rank.replica->set_metrics(std::move(figures));
  BlobArchive of_strategy(*rank.device, blobs, kStrategy);
  rank.strategy->restore(of_strategy);
}

}  // namespace mgcompare
