#include "train/rank.h"

#include <algorithm>

#include <fmt/format.h>

namespace mgcompare {
namespace {

// Prefixes of the names in a checkpoint.
constexpr char kOwn[] = "rank/";
constexpr char kStrategy[] = "strategy/";

// The program restores weights and buffers itself: a strategy that changed them would go on with others.
void expect_restored(Rank& rank, const Blobs& blobs) {
  for (const RankReplica::Saved& part : rank.replica->state()) {
    if (part.name != "weights" && part.name != "buffers") continue;
    std::vector<float> now(part.data.size());
    copy_to_host(*rank.device, Vec(now.data(), now.size()), part.data);
    rank.device->synchronize();
    const std::vector<std::uint8_t>& saved = blobs.at(kOwn + part.name);
    if (!std::equal(saved.begin(), saved.end(), reinterpret_cast<const std::uint8_t*>(now.data())))
      throw Error(fmt::format("the strategy changes the {} in restore(); the program restores them, so restore only state of its own",
                              part.name == "weights" ? "weights" : "statistics of batch normalisation"));
  }
}

}  // namespace

void Rank::count_traffic(bool counting) {
  group->ledger().set_counting(counting);
  group->host_ledger().set_counting(counting);
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
  const StepClock::PhaseScope in(Phase::strategy, "save");
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
  const std::uint64_t work = rank.replica->work();
  {
    const StepClock::PhaseScope in(Phase::strategy, "restore");
    rank.strategy->restore(of_strategy);
  }
  expect_same_work(rank, work, "restore()");
  expect_restored(rank, blobs);
}

void expect_same_work(const Rank& rank, std::uint64_t before, const char* function) {
  if (rank.replica->work() != before)
    throw Error(fmt::format("{} ran passes or updates, which no figure of the trial counts: they belong in step()", function));
}

}  // namespace mgcompare
