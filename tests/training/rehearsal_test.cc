// One rank whose partners exist in number only.

#include <gmock/gmock.h>

#include <cmath>

#include "measure/exchange_calls.h"
#include "fixture.h"

namespace mgcompare::testing {
namespace {

using ::testing::HasSubstr;

Trial rehearsal(std::size_t ranks, const std::string& plugin = "", const std::vector<OptionConfig>& options = {}) {
  Trial trial = small_trial(ranks, plugin, options);
  trial.devices = ranks;
  trial.ranks_per_device = 1;
  trial.rehearsal = true;
  return trial;
}

TrainingOutcome rehearse(const Trial& trial, const MakeStrategy& make = {}) {
  return run(trial, make, [](TrainingRequest& request) { request.evaluate = false; });
}

TEST(Rehearsal, TrainsTheShareOfOneRank) {
  const TrainingOutcome outcome = rehearse(rehearsal(4, "replicated"));
  const Result& result = outcome.result;
  EXPECT_EQ(result.ranks.size(), 1u);
  EXPECT_EQ(result.steps, 2u * 15) << "of 730 samples, 50 in a batch";
  EXPECT_NEAR(static_cast<double>(result.samples), 2 * 730 / 4, 20);
  EXPECT_NEAR(result.bytes_per_step, 2.0 * 3 / 4 * 4 * static_cast<double>(result.parameters), 4);
  ASSERT_EQ(result.placement.size(), 1u);
  ASSERT_FALSE(result.placement[0].sent.empty());
  EXPECT_EQ(result.placement[0].sent[0].over, kLinksBetweenDevices);
  EXPECT_NEAR(result.placement[0].sent[0].payload, 4 * static_cast<double>(result.parameters), 4);
}

// The root of a gather sends nothing, but the gather takes time.
TEST(Rehearsal, KnowsTheSizeOfWhatARootReceives) {
  class Gathers : public Strategy {
   public:
    Traits traits() const override { return {}; }
    void step(Replica& replica, Group& group, const Batch&) override {
      if (all_.empty()) all_ = device_array<float>(replica.device(), 300), mine_ = device_array<float>(replica.device(), 100);
      group.gather<float>(mine_.span(), all_.span(), 0);
    }

   private:
    Array<float> all_, mine_;
  };
  for (const std::size_t rank : {0, 2}) {
    Trial trial = rehearsal(3);
    trial.rehearsed_rank = rank;
    const Result result = rehearse(trial, [](Options&, const Facts&) { return std::make_unique<Gathers>(); }).result;
    ASSERT_EQ(result.placement.at(0).sent.size(), 1u);
    EXPECT_EQ(result.placement[0].sent[0].call, "gather");
    EXPECT_EQ(result.placement[0].sent[0].bytes, rank == 0 ? 0 : 400);
    EXPECT_EQ(result.placement[0].sent[0].payload, 1200);
  }
}

TEST(Rehearsal, TrainsAsTheRankThatItIsToldToBe) {
  std::vector<double> owned;
  for (const std::size_t rank : {0, 1}) {
    Trial trial = rehearsal(2, "sharded_server");
    trial.rehearsed_rank = rank;
    const Result result = rehearse(trial).result;
    ASSERT_EQ(result.metrics.size(), 1u);
    owned.push_back(result.metrics.front().at("owned bytes").last);
    double sent = 0;
    for (const Sent& each : result.placement.at(0).sent)
      if (each.call == "broadcast") sent = each.bytes;
    EXPECT_EQ(sent, owned.back()) << "an owner sends what it owns to the other rank";
    EXPECT_EQ(result.steps, 2u * 15);
    if (rank == 1) {
      EXPECT_EQ(owned[0] + owned[1], static_cast<double>(result.parameters * sizeof(float)));
    }
  }
  EXPECT_NE(owned[0], owned[1]);
}

TEST(Rehearsal, GivesStrategiesUsualNumbers) {
  for (const char* name : {"sharded_server", "onebit", "top_k", "power_sgd", "data_parallel", "local_sgd"}) {
    const TrainingOutcome outcome = rehearse(rehearsal(3, name));
    EXPECT_GT(outcome.result.bytes_per_step, 0) << name;
    EXPECT_TRUE(std::isfinite(outcome.result.epochs.back().loss)) << name;
  }
}

class Asks : public Strategy {
 public:
  explicit Asks(std::function<void(Group&)> question) : question_(std::move(question)) {}
  Traits traits() const override { return {}; }
  void step(Replica&, Group& group, const Batch&) override { question_(group); }

 private:
  std::function<void(Group&)> question_;
};

std::string refusal_in_rehearsal(const std::function<void(Group&)>& question) {
  try {
    rehearse(rehearsal(2), [&](Options&, const Facts&) { return std::make_unique<Asks>(question); });
  } catch (const EndedAs& error) {
    return error.status() == TrialStatus::unavailable ? error.what() : "";
  }
  return "";
}

TEST(Rehearsal, OfATowerIsRefused) {
  EXPECT_THROW(rehearse(rehearsal(2, "tower")), EndedAs) << "its ranks average in an object of all of them";
}

TEST(Rehearsal, RefusesWhatNeedsOtherRanks) {
  EXPECT_THAT(refusal_in_rehearsal([](Group& group) { group.wait_until([] { return false; }); }), HasSubstr("in a rehearsal there are none"));
  EXPECT_THAT(refusal_in_rehearsal([](Group& group) { group.shared<std::vector<float>>("parts"); }), HasSubstr("in a rehearsal there are none"));
  EXPECT_THAT(refusal_in_rehearsal([](Group& group) {
    std::vector<float> own(4), other(4);
    const int window = group.expose(Vec(own.data(), own.size()));
    group.peer(1).get(window, 0, Vec(other.data(), other.size()));
  }), HasSubstr("in a rehearsal there are none"));
  // As a strategy does whose ranks tell each other how much they send.
  EXPECT_THAT(refusal_in_rehearsal([](Group& group) {
    std::vector<float> mine{3}, told(2), all(3);
    group.all_gather<float>({mine.data(), 1}, {told.data(), 2});
    const Counts counts{static_cast<std::size_t>(told[0]), static_cast<std::size_t>(told[1])};
    group.all_gather<float>({all.data(), 3}, {all.data(), 3}, counts);
  }), HasSubstr("all_gather() needs sizes that other ranks tell, and in a rehearsal there are none"));
}

PhaseEvent own(Phase phase, double at, double bytes = 0) { return {phase, false, at, {"reduce", bytes, 2 * bytes}}; }
PhaseEvent beside(Phase phase, double at, double bytes = 0) { return {phase, true, at, {"all_reduce", bytes, bytes}}; }

TEST(ExchangeCalls, BeginWithTheirDataAndAreNeededBehindThePass) {
  const std::vector<ExchangeCall> calls =
      exchange_calls({own(Phase::outside, 10), own(Phase::compute, 11), beside(Phase::exchange, 13, 100), beside(Phase::optimizer, 14),
                      beside(Phase::outside, 15), beside(Phase::exchange, 16, 50), beside(Phase::outside, 16.5), own(Phase::optimizer, 18),
                      own(Phase::exchange, 19, 7), own(Phase::outside, 20)});
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_DOUBLE_EQ(calls[0].bytes, 100);
  EXPECT_DOUBLE_EQ(calls[0].begin, 3);
  EXPECT_DOUBLE_EQ(calls[0].join, 8);
  EXPECT_DOUBLE_EQ(calls[0].after, 1);
  EXPECT_DOUBLE_EQ(calls[1].begin, 6);
  EXPECT_DOUBLE_EQ(calls[1].join, 8);
  EXPECT_DOUBLE_EQ(calls[1].after, 0);
  EXPECT_EQ(calls[0].call, "all_reduce");
  EXPECT_EQ(calls[2].call, "reduce");
  EXPECT_DOUBLE_EQ(calls[2].payload, 14);
  EXPECT_DOUBLE_EQ(calls[2].begin, 9);
  EXPECT_DOUBLE_EQ(calls[2].join, 9) << "nothing overlaps it";
}

}  // namespace
}  // namespace mgcompare::testing
