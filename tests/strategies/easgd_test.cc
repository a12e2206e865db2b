#include "free_running.h"

#include "plugins/easgd/elastic.h"
#include "puppet.h"

namespace mgcompare {
namespace {

using namespace testing;

const std::vector<OptionValues> kElastic = {
    {},
    {{"every", "1"}},
    {{"every", "3"}, {"momentum", "none"}},
    {{"pace", "lockstep"}, {"every", "4"}},
};

// One elastic update of a rank's weights and the centre.
struct Band {
  std::vector<float> own, centre, pull;
  Band(std::vector<float> of_rank, std::vector<float> of_centre)
      : own(std::move(of_rank)), centre(std::move(of_centre)), pull(own.size()) {}
  void meet(float alpha) {
    const easgd::Attract attract{own.data(), centre.data(), pull.data(), alpha};
    const easgd::Follow follow{centre.data(), pull.data()};
    for (std::size_t i = 0; i < own.size(); ++i) attract(i), follow(i);
  }
};

const std::vector<float> kOwn = {1, -2, 0.25f, 3}, kCentre = {0.5f, 2, -0.75f, 3};

TEST(Easgd, AMeetingConservesTheSum) {
  for (const float alpha : {0.0f, 0.225f, 0.5f, 1.0f}) {
    Band band(kOwn, kCentre);
    band.meet(alpha);
    for (std::size_t i = 0; i < kOwn.size(); ++i) {
      EXPECT_NEAR(band.own[i] + band.centre[i], kOwn[i] + kCentre[i], 1e-6);
      EXPECT_NEAR(band.own[i] - band.centre[i], (1 - 2 * alpha) * (kOwn[i] - kCentre[i]), 1e-6);
    }
  }
}

TEST(Easgd, NothingMovesWithoutAForceOrADistance) {
  Band loose(kOwn, kCentre);
  loose.meet(0);
  EXPECT_EQ(loose.own, kOwn);
  EXPECT_EQ(loose.centre, kCentre);
  Band settled(kOwn, kOwn);
  settled.meet(0.3f);
  EXPECT_EQ(settled.own, kOwn);
  EXPECT_EQ(settled.centre, kOwn);
}

TEST(Easgd, TheWholeDistanceSwapsThem) {
  Band band(kOwn, kCentre);
  band.meet(1);
  EXPECT_EQ(band.own, kCentre);
  EXPECT_EQ(band.centre, kOwn);
}

// Ranks with different minima, which exchange with the centre before every second step.
Play drawn_apart(const OptionValues& settings) {
  Play given;
  given.plugin = "easgd";
  given.options = options_of(settings);
  given.ranks = given.global_batch = 3;
  given.steps = 10;
  given.first_weight = 1;
  given.slope = [](const Batch& batch, std::size_t, float weight) { return weight - 2 * static_cast<float>(rank_of(batch)); };
  return given;
}

TEST(Easgd, InLockstepTheCentreTakesWhatAllGaveUpOfTheirOldDistances) {
  const Play given = drawn_apart({{"pace", "lockstep"}, {"every", "2"}, {"alpha", "0.2"}});
  const Played played = play(given, true);
  double centre = 1;
  std::vector<double> own(given.ranks, 1);
  for (std::size_t step = 0; step < given.steps; ++step) {
    const double before = centre;
    for (std::size_t rank = 0; rank < given.ranks; ++rank) {
      const double pull = step % 2 == 0 ? 0.2 * (own[rank] - before) : 0;
      own[rank] -= pull;
      centre += pull;
      own[rank] -= given.rate * (own[rank] - 2.0 * static_cast<double>(rank));
    }
    for (std::size_t rank = 0; rank < given.ranks; ++rank) {
      EXPECT_NEAR(played.weights[rank][step + 1][0], own[rank], 1e-5) << step;
      EXPECT_NEAR(played.settled[rank][step][0], centre, 1e-5) << step;
    }
  }
}

TEST(Easgd, FreeRanksMeetTheCentreAsItThenIs) {
  Play given = drawn_apart({{"every", "2"}, {"alpha", "0.2"}});
  given.order = some_order(given.ranks, given.steps / 2);
  const Played played = play(given);
  double centre = 1;
  std::vector<double> own(given.ranks, 1);
  for (const std::uint32_t rank : given.order) {
    const double pull = 0.2 * (own[rank] - centre);
    own[rank] -= pull;
    centre += pull;
    for (std::size_t step = 0; step < 2; ++step) own[rank] -= given.rate * (own[rank] - 2.0 * static_cast<double>(rank));
  }
  for (std::size_t rank = 0; rank < given.ranks; ++rank) {
    EXPECT_NEAR(played.weights[rank].back()[0], own[rank], 1e-5) << rank;
    EXPECT_NEAR(played.settled[rank].back()[0], centre, 1e-5) << rank;
  }
}

// Records the weights that a rank trains, at the end of each epoch, beside those that it settles on.
class Spy : public Strategy {
 public:
  Spy(std::unique_ptr<Strategy> strategy, std::vector<std::vector<float>>& trained)
      : strategy_(std::move(strategy)), trained_(trained) {}
  Traits traits() const override { return strategy_->traits(); }
  void start(Replica& replica, Group& group) override { strategy_->start(replica, group); }
  void step(Replica& replica, Group& group, const Batch& batch) override { strategy_->step(replica, group, batch); }
  void rest(Replica& replica, Group& group) override { strategy_->rest(replica, group); }
  Vec settle(Replica& replica, Group& group) override {
    const Vec weights = replica.weights();
    trained_[static_cast<std::size_t>(group.rank())].assign(weights.begin(), weights.end());
    return strategy_->settle(replica, group);
  }

 private:
  std::unique_ptr<Strategy> strategy_;
  std::vector<std::vector<float>>& trained_;
};

struct Spied {
  TrainingOutcome outcome;
  std::vector<std::vector<float>> trained;
};

Spied spy(const Trial& trial) {
  Spied spied;
  spied.trained.resize(trial.ranks());
  spied.outcome = run(trial, [&](Options& options, const Facts& facts) -> std::unique_ptr<Strategy> {
    return std::make_unique<Spy>(make_strategy(trial.plugin_file, options, facts), spied.trained);
  });
  return spied;
}

TEST(Easgd, WithoutAForceRanksAreIndependent) {
  const OptionValues settings = {{"pace", "lockstep"}, {"alpha", "0"}, {"every", "1"}};
  const Spied loose = spy(free_trial(3, "easgd", settings)), independent = spy(free_trial(3, "independent"));
  EXPECT_EQ(loose.trained, independent.trained);
  EXPECT_NE(loose.trained[0], loose.trained[1]);
  for (const auto& centre : loose.outcome.weights) EXPECT_EQ(centre, loose.outcome.weights[0]);
}

TEST(Easgd, TheCentreIsNearerToTheRanksThanTheyAreToOneAnother) {
  for (const char* pace : {"free", "lockstep"}) {
    const Spied spied = spy(free_trial(4, "easgd", {{"pace", pace}, {"every", "2"}}));
    const auto distance = [](const std::vector<float>& a, const std::vector<float>& b) {
      double squares = 0;
      for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(static_cast<double>(a[i] - b[i]), 2);
      return std::sqrt(squares);
    };
    double to_centre = 0, to_another = 0;
    for (std::size_t rank = 0; rank < 4; ++rank) {
      to_centre += distance(spied.trained[rank], spied.outcome.weights[0]);
      to_another += distance(spied.trained[rank], spied.trained[(rank + 1) % 4]);
    }
    EXPECT_LT(to_centre, to_another) << pace;
    for (const auto& metrics : spied.outcome.result.metrics) EXPECT_GT(metrics.at("distance from the centre").most, 0) << pace;
  }
}

TEST(Easgd, AloneItIsOneDeviceToTheBit) {
  const std::vector<float> plain = run(free_trial(1, ""), [](Options&, const Facts&) { return make_reference(1); }).weights[0];
  for (const OptionValues& settings : {OptionValues{}, {{"pace", "lockstep"}}})
    EXPECT_EQ(run(free_trial(1, "easgd", settings)).weights[0], plain) << text_of(settings);
}

TEST(Easgd, AppliesEveryGradientAndSettlesOnOneCentre) {
  for (const OptionValues& settings : kElastic)
    for (const std::size_t ranks : {2u, 3u, 8u}) {
      const TrainingOutcome outcome = audited(free_trial(ranks, "easgd", settings));
      expect_each_sample_once(outcome, text_of(settings) + std::to_string(ranks));
      if (!says(settings, "lockstep")) expect_all_applied(outcome, text_of(settings));
      for (const auto& weights : outcome.weights) EXPECT_EQ(weights, outcome.weights[0]) << text_of(settings);
    }
}

TEST(Easgd, BytesAreThoseOfTheFormula) {
  const Result lockstep = run(free_trial(4, "easgd", {{"pace", "lockstep"}, {"every", "5"}})).result;
  // An exchange is an all-reduce, and for every 1024 elements one partial sum of the distance goes to the host.
  const double figures = std::ceil(static_cast<double>(lockstep.parameters) / 1024);
  EXPECT_NEAR(lockstep.bytes_per_step, (2.0 * 3 / 4 * 4 * static_cast<double>(lockstep.parameters) + 4 * figures) / 5, 1);
  // Free-running ranks, except the first, whose device holds the centre, get the centre and put it back. Here each rank
  // has 30 steps and settles once per epoch.
  const Result free = run(free_trial(2, "easgd", {{"every", "5"}})).result;
  const double steps = 60, meetings = 6, epochs = 2, vector = 4 * static_cast<double>(free.parameters);
  EXPECT_NEAR(free.bytes_per_step, (meetings * 2 * vector + epochs * vector + 2 * meetings * 4 * figures) / steps, 0.05 * vector);
}

TEST(Easgd, ReplaysAndResumesToTheBit) {
  for (const OptionValues& settings : kElastic) {
    expect_resumable(free_trial(3, "easgd", settings), text_of(settings));
    if (!says(settings, "lockstep")) expect_replayable(free_trial(3, "easgd", settings), text_of(settings));
  }
}

TEST(Easgd, OptionsThatMakeNoSenseAreRefusedByName) {
  Facts facts;
  facts.ranks = 4;
  facts.steps_per_epoch = 15;
  using Keys = std::vector<std::string>;
  const auto keys = [&](const OptionValues& settings) { return refused("easgd", settings, facts); };
  for (const OptionValues& settings : kElastic) EXPECT_EQ(keys(settings), Keys{}) << text_of(settings);
  EXPECT_EQ(keys({{"every", "16"}}), Keys{"every"});
  EXPECT_EQ(keys({{"every", "0"}}), Keys{"every"});
  EXPECT_EQ(keys({{"alpha", "1.5"}}), Keys{"alpha"});
  EXPECT_EQ(keys({{"alpha", "0.5"}}), Keys{});
  EXPECT_EQ(keys({{"alpha", "0.5"}, {"pace", "lockstep"}}), Keys{"alpha"});
}

}  // namespace
}  // namespace mgcompare
