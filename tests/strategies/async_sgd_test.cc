#include "free_running.h"

#include <unistd.h>

#include <filesystem>

#include "plugins/async_sgd/rules.h"
#include "puppet.h"

namespace mgcompare {
namespace {

using namespace testing;

constexpr std::size_t kDraws = static_cast<std::size_t>(-1);  // the stripe that orders the draws
constexpr std::size_t kStepsEach = 10;

// Every rule and server location, with settings that are deterministic in virtual time.
const std::vector<OptionValues> kServers = {
    {},
    {{"lock", "global"}},
    {{"stripes", "5"}},
    {{"server", "device"}},
    {{"server", "device"}, {"lock", "striped"}, {"stripes", "3"}, {"momentum", "server"}},
    {{"momentum", "worker"}},
    {{"momentum", "worker"}, {"server", "device"}},
    {{"rule", "softsync"}, {"n", "1"}, {"staleness", "none"}},
    {{"rule", "softsync"}, {"n", "2"}, {"server", "device"}, {"staleness", "none"}},
    {{"staleness", "bounded"}, {"bound", "1"}},
    {{"push_every", "3"}},
    {{"push_every", "2"}, {"pull_every", "3"}, {"staleness", "none"}},
    {{"rule", "hogwild"}, {"lock", "global"}},
    {{"rule", "hogwild"}, {"lock", "striped"}, {"server", "device"}, {"momentum", "worker"}},
};

// The order of ranks that all pull in turn and then all push in turn, in every step.
ScheduleLog round_robin(std::size_t ranks, bool rests_meet) {
  ScheduleLog record;
  ScheduleLog::Order& order = record.epochs[0];
  const auto all_come = [&](std::size_t stripe) {
    for (std::size_t rank = 0; rank < ranks; ++rank) order[stripe].push_back(static_cast<std::uint32_t>(rank));
  };
  for (std::size_t step = 0; step < kStepsEach + 1; ++step) all_come(kDraws), all_come(0);
  if (rests_meet) all_come(0);
  return record;
}

// The gradients of such a run in order of arrival, with the columns that the strategy writes.
std::vector<std::vector<double>> gradients_of(std::size_t ranks, OptionValues settings) {
  settings.push_back({"lock", "global"});
  Trial trial = free_trial(ranks, "async_sgd", settings);
  trial.global_batch = ranks * 4;
  trial.config.epochs = 1;
  const Dataset few = first_digits(ranks * 4 * kStepsEach);
  const bool softsync = settings[0].second == "softsync";
  const ScheduleLog order = round_robin(ranks, softsync && settings[1].second != std::to_string(ranks));
  const TrainingOutcome outcome = run(trial, {}, [&](TrainingRequest& request) {
    request.dataset = &few;
    request.replay = &order;
    request.record = true;
  });
  std::vector<std::vector<double>> rows;
  for (const ScheduleLog::Lines& lines : outcome.record.ranks)
    for (const std::vector<double>& row : lines.at("gradients")) rows.push_back(row);
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a[1] < b[1]; });
  EXPECT_EQ(rows.size(), ranks * kStepsEach);
  return rows;
}

TEST(AsyncSgd, RoundRobinHasTheStalenessOfAllOthers) {
  for (const std::size_t ranks : {2u, 4u, 8u}) {
    const auto rows = gradients_of(ranks, {{"rule", "downpour"}});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double expected = static_cast<double>(std::min(i, ranks - 1));
      EXPECT_EQ(rows[i][0], 0);
      EXPECT_EQ(rows[i][1], static_cast<double>(i));
      EXPECT_EQ(rows[i][2], static_cast<double>(i % ranks));
      EXPECT_EQ(rows[i][4], static_cast<double>(i));  // one update per gradient
      EXPECT_EQ(rows[i][5], rows[i][4] - rows[i][3]);
      EXPECT_EQ(rows[i][5], expected) << ranks << " gradient " << i;
      EXPECT_EQ(rows[i][6], expected > 0 ? 1 / expected : 1);
    }
  }
}

TEST(AsyncSgd, SoftsyncDividesTheStalenessByItsGradientsPerUpdate) {
  const std::size_t ranks = 8;
  const std::vector<std::pair<std::size_t, double>> most = {{1, 1}, {2, 2}, {4, 4}, {8, 7}};
  for (const auto& [n, expected] : most) {
    const auto rows = gradients_of(ranks, {{"rule", "softsync"}, {"n", std::to_string(n)}});
    double largest = 0, sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      largest = std::max(largest, rows[i][5]);
      if (i >= ranks) sum += rows[i][5];
    }
    EXPECT_EQ(largest, expected) << n;
    EXPECT_DOUBLE_EQ(sum / static_cast<double>(rows.size() - ranks), static_cast<double>(ranks - 1) / static_cast<double>(ranks / n)) << n;
  }
}

TEST(AsyncSgd, MeanStalenessIsThatOfTheOthersInFlight) {
  for (const OptionValues& settings : {OptionValues{}, {{"server", "device"}}, {{"rule", "softsync"}, {"n", "2"}}})
    for (const std::size_t ranks : {2u, 4u, 8u}) {
      const Result result = run(free_trial(ranks, "async_sgd", settings)).result;
      double sum = 0, count = 0;
      for (const auto& metrics : result.metrics) {
        const MetricResult& metric = metrics.at("staleness");
        std::uint64_t counted = 0;
        for (std::size_t value = 0; value < metric.counts.size(); ++value) {
          counted += metric.counts[value];
          sum += static_cast<double>(value * metric.counts[value]);
        }
        EXPECT_EQ(counted, metric.count);
        count += static_cast<double>(metric.count);
      }
      const double per_update = settings.size() == 2 && ranks > 2 ? static_cast<double>(ranks) / 2 : 1;
      // Two epochs, each with a transient at its beginning and at its end.
      const double edges = 2 * 2 * static_cast<double>(ranks * ranks) / count;
      EXPECT_NEAR(sum / count, static_cast<double>(ranks - 1) / per_update, edges) << text_of(settings) << ranks;
    }
}

TEST(AsyncSgd, AloneItIsOneDeviceToTheBit) {
  const std::vector<float> plain = run(free_trial(1, ""), [](Options&, const Facts&) { return make_reference(1); }).weights[0];
  for (const OptionValues& settings : {OptionValues{}, {{"lock", "global"}}, {{"server", "device"}}, {{"rule", "softsync"}, {"n", "1"}},
                                   {{"momentum", "worker"}}, {{"staleness", "bounded"}, {"bound", "0"}}})
    EXPECT_EQ(run(free_trial(1, "async_sgd", settings)).weights[0], plain) << text_of(settings);
  // Hogwild adds the change that an update made: w + ((w + d) - w) equals w + d up to rounding.
  EXPECT_LT(largest_difference(run(free_trial(1, "async_sgd", {{"rule", "hogwild"}, {"lock", "global"}})).weights[0], plain), 1e-5);
}

TEST(AsyncSgd, WhatIsPushedIsAppliedAndEachSampleCountsOnce) {
  const Dataset even = first_digits(720);
  for (const OptionValues& settings : kServers)
    for (const std::size_t ranks : {2u, 3u, 8u}) {
      const bool softsync = says(settings, "softsync");
      const std::size_t per_update = softsync ? async_sgd::gradients_per_update(ranks, std::stoul(settings[1].second)) : 1;
      // Softsync's last update of an epoch applies the mean of the remaining gradients; here none remain.
      Trial trial = free_trial(ranks, "async_sgd", settings);
      if (softsync) trial.global_batch = 48;
      const TrainingOutcome outcome = run(trial, {}, [&](TrainingRequest& request) {
        request.audit = true;
        if (softsync) request.dataset = &even;
      });
      expect_all_applied(outcome, text_of(settings) + std::to_string(ranks), static_cast<double>(per_update));
      expect_each_sample_once(outcome, text_of(settings) + std::to_string(ranks));
      for (const auto& weights : outcome.weights) EXPECT_EQ(weights, outcome.weights[0]) << text_of(settings);
    }
}

TEST(AsyncSgd, StripesOfOneRunMakeNoDifferenceInVirtualTime) {
  // In virtual time no other rank runs between two stripes of a push, so the number of locks does not change the bits.
  const std::vector<float> one = run(free_trial(4, "async_sgd", {{"lock", "global"}})).weights[0];
  for (const char* stripes : {"2", "7", "128"})
    EXPECT_EQ(run(free_trial(4, "async_sgd", {{"lock", "striped"}, {"stripes", stripes}})).weights[0], one) << stripes;
}

TEST(AsyncSgd, AServerOnADeviceComputesWhatOneOnTheHostDoes) {
  for (const OptionValues& settings : {OptionValues{{"momentum", "none"}}, {{"momentum", "server"}}, {{"momentum", "worker"}}})
    EXPECT_EQ(run(free_trial(3, "async_sgd", settings)).weights, run(free_trial(3, "async_sgd", with(settings, {"server", "device"}))).weights)
        << text_of(settings);
}

TEST(AsyncSgd, ReplaysFreeRunsToTheBit) {
  for (const OptionValues& settings : kServers) expect_replayable(free_trial(4, "async_sgd", settings), text_of(settings));
}

TEST(AsyncSgd, ARecordSurvivesTheDiskAndAnInterruption) {
  const std::string file = std::filesystem::temp_directory_path() / ("mgcompare-record-" + std::to_string(::getpid()));
  Trial trial = free_trial(3, "async_sgd");
  trial.config.deterministic = false;
  trial.config.checkpoint_epochs = 1;
  const TrainingOutcome resumed = run_in_two_parts(trial, [](TrainingRequest& request) { request.record = true; });
  write_schedule_log(file, resumed.record);
  const ScheduleLog kept = read_schedule_log(file);
  EXPECT_EQ(kept.epochs.size(), 2u);
  // 30 draws per epoch, two epochs, and 16 stripes for each draw.
  std::size_t lines = 0;
  for (const ScheduleLog::Lines& rank : kept.ranks)
    for (const auto& [name, rows] : rank) lines += rows.size();
  EXPECT_EQ(lines, resumed.result.updates * 16);
  EXPECT_EQ(run(trial, {}, [&](TrainingRequest& request) { request.replay = &kept; }).weights, resumed.weights);

  Trial other = free_trial(2, "async_sgd");
  try {
    run(other, {}, [&](TrainingRequest& request) { request.replay = &kept; });
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("does not fit this trial"), std::string::npos) << error.what();
  }
  std::filesystem::remove(file);
}

TEST(AsyncSgd, WithoutLocksThereIsNoOrderToReplay) {
  const Trial trial = [] {
    Trial free = free_trial(2, "async_sgd", {{"rule", "hogwild"}, {"lock", "none"}});
    free.config.deterministic = false;
    return free;
  }();
  const TrainingOutcome live = run(trial, {}, [](TrainingRequest& request) { request.record = true; });
  // In live time one rank may process everything.
  std::uint64_t pulls = 0;
  for (const auto& metrics : live.result.metrics) {
    if (!metrics.contains("torn pulls")) continue;
    pulls += metrics.at("torn pulls").count;
    EXPECT_LE(metrics.at("torn pulls").most, 1);
  }
  EXPECT_EQ(pulls, live.result.updates);
  try {
    run(trial, {}, [&](TrainingRequest& request) { request.replay = &live.record; });
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("option lock: without locks there is no order"), std::string::npos) << error.what();
  }
}

TEST(AsyncSgd, HogwildWithoutLocksLosesNothing) {
  for (const char* server : {"host", "device"}) {
    Trial trial = free_trial(4, "async_sgd", {{"rule", "hogwild"}, {"server", server}});
    trial.config.deterministic = false;
    const TrainingOutcome outcome = audited(trial);
    expect_all_applied(outcome, server);
    expect_each_sample_once(outcome, server);
  }
  // No change is lost: plain sgd without weight decay and without staleness-dependent rates moves the weights by rate x
  // the sum of all gradients.
  Trial plain = free_trial(4, "async_sgd", {{"rule", "hogwild"}, {"staleness", "none"}});
  plain.config.deterministic = false;
  plain.config.optimizer.weight_decay = 0;
  const TrainingOutcome moved = audited(plain);
  Trial still = plain;
  still.config.optimizer.learning_rate = 1e-30;
  const std::vector<float> before = run(still).weights[0];
  double gap = 0, size = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double way = static_cast<double>(moved.weights[0][i]) - static_cast<double>(before[i]);
    gap = std::max(gap, std::abs(way + plain.config.optimizer.learning_rate * moved.pushed.sum[i]));
    size = std::max(size, std::abs(way));
  }
  EXPECT_GT(size, 0.01);
  EXPECT_LT(gap, 1e-4 * size);
}

TEST(AsyncSgd, NoRankIsFurtherAheadThanTheBound) {
  for (const std::size_t bound : {0u, 1u, 3u})
    for (const bool in_virtual_time : {true, false}) {
      Trial trial = free_trial(4, "async_sgd", {{"staleness", "bounded"}, {"bound", std::to_string(bound)}, {"lock", "global"}});
      trial.config.deterministic = in_virtual_time;
      const TrainingOutcome outcome = run(trial, {}, [](TrainingRequest& request) { request.record = true; });
      for (const auto& metrics : outcome.result.metrics) {
        ASSERT_TRUE(metrics.contains("clock gap"));
        EXPECT_LE(metrics.at("clock gap").most, static_cast<double>(bound));
      }
      // The same, derived from the order alone: a rank's visits alternate between pull and push.
      for (const auto& [epoch, order] : outcome.record.epochs) {
        std::vector<std::size_t> visits(4, 0), left(4, 0);
        for (const std::uint32_t rank : order.at(0)) ++left[rank];
        for (const std::uint32_t rank : order.at(0)) {
          std::size_t slowest = visits[rank] / 2;
          for (std::size_t other = 0; other < 4; ++other)
            if (left[other] > 0) slowest = std::min(slowest, visits[other] / 2);
          if (visits[rank] % 2 == 0) {
            EXPECT_LE(visits[rank] / 2 - slowest, bound) << "epoch " << epoch;
          }
          ++visits[rank];
          --left[rank];
        }
      }
    }
}

// One update for as many gradients as there are ranks, and no rank ahead of the others: the hardsync of Gupta, Zhang
// and Wang.
TEST(AsyncSgd, WithAllGradientsInAnUpdateAndNobodyAheadItIsLockstep) {
  const Dataset even = first_digits(700);  // a multiple of the batch of 50
  for (const std::size_t ranks : {2u, 5u}) {
    Trial lockstep = free_trial(ranks, "replicated");
    Trial hardsync = free_trial(ranks, "async_sgd", {{"rule", "softsync"}, {"n", "1"}, {"staleness", "bounded"}, {"bound", "0"}});
    lockstep.config.optimizer.momentum = hardsync.config.optimizer.momentum = 0;
    const auto on_even = [&](TrainingRequest& request) { request.dataset = &even; };
    const TrainingOutcome expected = run(lockstep, {}, on_even), outcome = run(hardsync, {}, on_even);
    EXPECT_LT(largest_difference(outcome.weights[0], expected.weights[0]), 1e-5) << ranks;
    EXPECT_EQ(outcome.result.updates, expected.result.updates);
    for (const auto& metrics : outcome.result.metrics) EXPECT_EQ(metrics.at("staleness").most, 0) << ranks;
  }
}

// Downpour with periods, in double precision: a rank moves its own copy by plain sgd and pushes the sum of its
// gradients since the last push.
TEST(AsyncSgd, BetweenMeetingsARankMovesByItself) {
  constexpr std::size_t kRanks = 3, kVisits = 6, kPeriod = 4;
  Play given;
  given.plugin = "async_sgd";
  given.ranks = given.global_batch = kRanks;
  given.steps = (kVisits - 1) * kPeriod;
  given.first_weight = 1;
  given.order = some_order(kRanks, kVisits);
  const auto slope = [](std::size_t rank, std::size_t step, double weight) { return weight - static_cast<double>(rank) + 0.2 * static_cast<double>(step % 5); };
  given.slope = [&](const Batch& batch, std::size_t, float weight) {
    return static_cast<float>(slope(rank_of(batch), batch.step(), static_cast<double>(weight)));
  };
  for (const char* server : {"host", "device"}) {
    given.options = options_of({{"server", server}, {"lock", "global"}, {"staleness", "none"}, {"push_every", "4"}, {"pull_every", "4"}, {"rate", "0.5"}});
    double weight = 1;
    std::vector<double> own(kRanks, NAN);
    std::vector<std::size_t> steps(kRanks, 0);
    for (const std::uint32_t rank : given.order) {
      if (!std::isnan(own[rank])) {
        double sum = 0;
        for (std::size_t k = 0; k < kPeriod; ++k) {
          const double gradient = slope(rank, steps[rank]++, own[rank]);
          sum += gradient;
          own[rank] -= 0.5 * given.rate * gradient;
        }
        weight -= 0.5 * given.rate * sum;
      }
      own[rank] = weight;
    }
    EXPECT_NEAR(play(given).settled[0].back()[0], weight, 1e-5) << server;
  }
}

TEST(AsyncSgd, OldGradientsAreDroppedAndCounted) {
  const OptionValues settings = {{"drop_above", "3"}, {"lock", "global"}, {"staleness", "none"}};
  const Result result = run(free_trial(8, "async_sgd", settings)).result;
  double dropped = 0, old = 0, pushes = 0;
  for (const auto& metrics : result.metrics) {
    dropped += metrics.at("dropped").mean * static_cast<double>(metrics.at("dropped").count);
    const std::vector<std::uint64_t>& counts = metrics.at("staleness").counts;
    for (std::size_t value = 0; value < counts.size(); ++value) {
      pushes += static_cast<double>(counts[value]);
      if (value > 3) old += static_cast<double>(counts[value]);
    }
  }
  EXPECT_GT(old, 0);
  EXPECT_NEAR(dropped, old, 1e-6);
  EXPECT_EQ(static_cast<double>(result.updates), pushes - old);
}

TEST(AsyncSgd, RatesByTheNumberOfRanksAreTheMean) {
  constexpr std::size_t kRanks = 8;
  std::vector<float> sum(100, 0), gradient(100), mean(100, 0);
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    for (std::size_t i = 0; i < 100; ++i) gradient[i] = std::sin(static_cast<float>(rank * 100 + i));
    const async_sgd::AddScaled add{sum.data(), gradient.data(), static_cast<float>(async_sgd::rate_of(kRanks, true))};
    for (std::size_t i = 0; i < 100; ++i) add(i), mean[i] += gradient[i] / kRanks;
  }
  EXPECT_LT(largest_difference(sum, mean), 1e-6);
  EXPECT_EQ(async_sgd::rate_of(0, true), 1);
  EXPECT_EQ(async_sgd::rate_of(5, false), 1);
}

TEST(AsyncSgd, ResumesToTheBit) {
  for (const OptionValues& settings : kServers) expect_resumable(free_trial(3, "async_sgd", settings), text_of(settings));
}

TEST(AsyncSgd, BytesAreThoseOfTheFormula) {
  const auto bytes = [](const OptionValues& settings) { return run(free_trial(2, "async_sgd", settings)).result; };
  const Result host = bytes({});
  const double size = 4 * static_cast<double>(host.parameters), steps = 60;
  // Each step sends a gradient and receives weights. At the beginning of an epoch each rank receives weights once more.
  EXPECT_NEAR(host.bytes_per_step, size * (2 + 4 / steps), 1);
  // Half of the steps belong to the rank whose device holds the server.
  const Result device = bytes({{"server", "device"}});
  EXPECT_NEAR(device.bytes_per_step, size * (2 * 30 + 2) / steps, 0.1 * size);
}

TEST(AsyncSgd, OptionsThatMakeNoSenseAreRefusedByName) {
  Facts facts;
  facts.ranks = 4;
  facts.optimizer = "sgd";
  facts.momentum = 0.9;
  Facts adam = facts, ordered = facts, alone = facts;
  adam.optimizer = "adam";
  ordered.ordered = true;
  alone.ranks = 1;
  const auto keys = [](const OptionValues& settings, const Facts& of) { return refused("async_sgd", settings, of); };
  using Keys = std::vector<std::string>;
  for (const OptionValues& settings : kServers) EXPECT_EQ(keys(settings, facts), Keys{}) << text_of(settings);
  EXPECT_EQ(keys({{"rule", "softsync"}, {"n", "5"}}, facts), Keys{"n"});
  EXPECT_EQ(keys({{"rule", "softsync"}, {"n", "5"}}, alone), Keys{});
  EXPECT_EQ(keys({{"n", "2"}}, facts), Keys{"n"});
  EXPECT_EQ(keys({{"staleness", "bounded"}, {"bound", "-1"}}, facts), Keys{"bound"});
  EXPECT_EQ(keys({{"bound", "2"}}, facts), Keys{"bound"});
  EXPECT_EQ(keys({{"lock", "none"}}, facts), Keys{"lock"});
  EXPECT_EQ(keys({{"rule", "hogwild"}, {"lock", "none"}}, facts), Keys{});
  EXPECT_EQ(keys({{"rule", "hogwild"}, {"lock", "none"}}, ordered), Keys{"lock"});
  EXPECT_EQ(keys({{"rule", "hogwild"}}, ordered), Keys{"rule"});
  EXPECT_EQ(keys({{"rule", "hogwild"}, {"momentum", "server"}}, facts), Keys{"momentum"});
  EXPECT_EQ(keys({{"rule", "hogwild"}, {"push_every", "2"}}, facts), Keys{"push_every"});
  EXPECT_EQ(keys({{"rule", "softsync"}, {"momentum", "worker"}}, facts), Keys{"momentum"});
  EXPECT_EQ(keys({{"server", "device"}}, adam), Keys{"server"});
  EXPECT_EQ(keys({{"lock", "striped"}}, adam), Keys{"lock"});
  EXPECT_EQ(keys({{"pull_every", "2"}}, adam), Keys{"pull_every"});
  EXPECT_EQ(keys({{"lock", "global"}, {"stripes", "4"}}, facts), Keys{"stripes"});
  EXPECT_EQ(keys({{"sever", "host"}}, facts), Keys{"sever"});
}

}  // namespace
}  // namespace mgcompare
