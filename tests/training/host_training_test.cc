// Training over several hosts, which are threads here: the results are those of one device.

#include <gmock/gmock.h>

#include <filesystem>

#include "base/temporary_folder.h"
#include "fixture.h"
#include "check/joined_hosts.h"

namespace mgcompare {
namespace {

using testing::largest_difference;
using testing::small_trial;

// `ranks` on each of `hosts`.
Trial trial_on(std::size_t hosts, std::size_t ranks, const std::string& plugin, bool deterministic) {
  Trial trial = small_trial(hosts * ranks, plugin);
  trial.devices = hosts;
  trial.ranks_per_device = ranks;
  trial.hosts = hosts;
  trial.config.deterministic = deterministic;
  return trial;
}

// Of each host.
std::vector<TrainingOutcome> train_on_hosts(const Trial& trial) {
  std::vector<TrainingOutcome> outcomes(trial.hosts);
  on_joined_hosts(trial.hosts, [&](const HostSpan& hosts) {
    outcomes[hosts.number] = testing::run(trial, {}, [&](TrainingRequest& request) { request.hosts = hosts; });
  });
  return outcomes;
}

struct Shape {
  std::size_t hosts, ranks;
};

class ExactOnHosts : public ::testing::TestWithParam<Shape> {};

TEST_P(ExactOnHosts, EqualsOneDevice) {
  const auto [hosts, ranks] = GetParam();
  const std::vector<float> serial = testing::run(small_trial(1, "serial")).weights.at(0);
  for (const char* strategy : {"replicated", "data_parallel", "sharded_server", "tower"}) {
    for (const bool deterministic : {false, true}) {
      const Trial trial = trial_on(hosts, ranks, strategy, deterministic);
      const std::vector<TrainingOutcome> outcomes = train_on_hosts(trial), again = train_on_hosts(trial);
      const std::vector<float>& first = outcomes[0].weights.at(0);
      EXPECT_LT(largest_difference(first, serial), 1e-5) << strategy;
      for (std::size_t host = 0; host < hosts; ++host) {
        ASSERT_EQ(outcomes[host].weights.size(), ranks);
        for (const std::vector<float>& weights : outcomes[host].weights) EXPECT_EQ(weights, first) << strategy << ", host " << host;
      }
      EXPECT_EQ(again[0].weights.at(0), first) << strategy;
      const Result& result = outcomes[0].result;
      EXPECT_EQ(result.ranks.size(), hosts * ranks);
      EXPECT_EQ(result.placement.size(), hosts * ranks);
      EXPECT_EQ(result.epochs.back().ranks_apart, 0u);
      EXPECT_EQ(result.samples, result.samples_due);
      EXPECT_TRUE(outcomes[1].result.epochs.empty()) << "only the first host has the result";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Hosts, ExactOnHosts, ::testing::Values(Shape{2, 1}, Shape{2, 2}, Shape{3, 1}, Shape{3, 2}),
                         [](const auto& info) { return std::to_string(info.param.hosts) + "x" + std::to_string(info.param.ranks); });

// Rank order does not know where a rank is.
TEST(HostTraining, DeterministicBitsDoNotDependOnTheNumberOfHosts) {
  const Trial several = trial_on(2, 2, "replicated", true);
  Trial one = several;
  one.hosts = 1;
  one.devices = 1;
  one.ranks_per_device = 4;
  EXPECT_EQ(train_on_hosts(several)[0].weights.at(0), testing::run(one).weights.at(0));
}

TEST(HostTraining, BytesWithinAndBetweenHostsAreCountedApart) {
  const std::vector<TrainingOutcome> outcomes = train_on_hosts(trial_on(2, 2, "replicated", false));
  const std::vector<RankPlacement>& ranks = outcomes[0].result.placement;
  const auto sent = [&](std::size_t rank, const std::string& over) {
    double bytes = 0;
    for (const Sent& one : ranks.at(rank).sent)
      if (one.over == over) bytes += one.bytes;
    return bytes;
  };
  const double model = 4.0 * static_cast<double>(outcomes[0].result.parameters);
  // Half of the vector to the other host, and half of the sum back.
  EXPECT_NEAR(sent(0, "the links between hosts"), model, 4);
  EXPECT_NEAR(sent(2, "the links between hosts"), model, 4);
  EXPECT_EQ(sent(1, "the links between hosts"), 0);
  EXPECT_GT(sent(1, "the device's own memory") + sent(1, "the links between devices"), 0);
}


// The first host adds all vectors in rank order.
TEST(HostTraining, TowerHasTheBitsOfOneHost) {
  for (const char* average : {"gradients", "parameters"}) {
    Trial several = trial_on(3, 2, "tower", false);
    several.strategy.options = {{"average", average, false, {}}};
    Trial one = several;
    one.hosts = one.devices = 1;
    one.ranks_per_device = several.ranks();
    EXPECT_EQ(train_on_hosts(several)[0].weights.at(0), testing::run(one).weights.at(0)) << average;
  }
}

TEST(HostTraining, EvaluationsWithinEpochsCoverAllHosts) {
  Trial trial = trial_on(2, 2, "replicated", true);
  trial.config.evaluate = 0.5;
  Trial one = trial;
  one.hosts = one.devices = 1;
  one.ranks_per_device = trial.ranks();
  const Result several = train_on_hosts(trial)[0].result, alone = testing::run(one).result;
  ASSERT_EQ(several.epochs.front().evaluations.size(), 1u);
  EXPECT_EQ(several.epochs.front().evaluations[0].accuracy, alone.epochs.front().evaluations[0].accuracy);
  EXPECT_EQ(several.weights_hash, alone.weights_hash);
}

// Interrupted in the second epoch, and continued from the file that the first host wrote.
TEST(HostTraining, ContinuesFromTheCheckpointOfTheFirstHost) {
  const TemporaryFolder folder;
  // Free pace is repeatable in virtual time only.
  for (const auto& [strategy, deterministic] : {std::pair{"replicated", false}, {"tower", false}, {"easgd", true}, {"async_sgd", true}}) {
    Trial trial = trial_on(2, 2, strategy, deterministic);
    trial.config.checkpoint_epochs = 1;
    const std::string whole = train_on_hosts(trial)[0].result.weights_hash;
    const std::string file = folder.path() + "/" + strategy;
    const auto train = [&](const HostSpan& hosts, bool stops) {
      return testing::run(trial, {}, [&](TrainingRequest& request) {
        request.hosts = hosts;
        request.files.checkpoint = file;
        request.files.resume = true;
        if (stops && hosts.number == 0) request.stop = [&] { return std::filesystem::exists(file); };
      });
    };
    EXPECT_THROW(on_joined_hosts(2, [&](const HostSpan& hosts) { train(hosts, true); }), Interrupted);
    ASSERT_TRUE(std::filesystem::exists(file));
    std::vector<TrainingOutcome> outcomes(2);
    on_joined_hosts(2, [&](const HostSpan& hosts) { outcomes[hosts.number] = train(hosts, false); });
    EXPECT_EQ(outcomes[0].result.weights_hash, whole) << strategy;
    EXPECT_EQ(outcomes[0].result.epochs.size(), trial.config.epochs);
    EXPECT_THAT(outcomes[0].result.notes, ::testing::Not(::testing::Contains(::testing::HasSubstr("checkpoint"))));
  }
}

std::vector<OptionConfig> options_of(const std::vector<std::pair<std::string, std::string>>& options) {
  std::vector<OptionConfig> all;
  for (const auto& [key, value] : options) all.push_back({key, value, false, {}});
  return all;
}

// In virtual time the order of the sections does not depend on the hosts.
TEST(HostTraining, FreePaceHasTheBitsOfOneHost) {
  const std::vector<std::pair<std::string, std::vector<OptionConfig>>> rows = {
      {"easgd", options_of({{"every", "2"}})},
      {"async_sgd", {}},
      {"async_sgd", options_of({{"momentum", "server"}, {"lock", "striped"}, {"stripes", "3"}})},
      {"async_sgd", options_of({{"rule", "softsync"}, {"n", "2"}})},
      {"async_sgd", options_of({{"staleness", "bounded"}, {"delay_compensation", "0.04"}, {"compensation", "adaptive"}})},
      {"async_sgd", options_of({{"rule", "hogwild"}, {"lock", "global"}})}};
  for (const auto& [strategy, options] : rows) {
    Trial several = trial_on(2, 2, strategy, true);
    several.strategy.options = options;
    Trial one = several;
    one.hosts = one.devices = 1;
    one.ranks_per_device = 4;
    // Where the server is on several hosts.
    if (strategy == "async_sgd") one.strategy.options.push_back({"server", "device", false, {}});
    const TrainingOutcome alone = testing::run(one), outcome = train_on_hosts(several)[0], again = train_on_hosts(several)[0];
    EXPECT_EQ(outcome.result.weights_hash, alone.result.weights_hash) << strategy;
    EXPECT_EQ(again.result.weights_hash, outcome.result.weights_hash) << strategy;
    EXPECT_EQ(outcome.result.samples, outcome.result.samples_due);
    EXPECT_EQ(outcome.result.updates, alone.result.updates) << strategy;
  }
}

// In real time one rank may draw all samples of so short a training.
TEST(HostTraining, FreePaceTrainsEverySampleAndCountsBytes) {
  for (const char* strategy : {"easgd", "async_sgd"}) {
    const Result live = train_on_hosts(trial_on(2, 2, strategy, false))[0].result, ordered = train_on_hosts(trial_on(2, 2, strategy, true))[0].result;
    EXPECT_EQ(live.samples, live.samples_due) << strategy;
    EXPECT_EQ(ordered.samples, ordered.samples_due) << strategy;
    double between = 0, within = 0;
    for (const RankPlacement& rank : ordered.placement)
      for (const Sent& sent : rank.sent) (sent.over == "the links between hosts" ? between : within) += sent.bytes;
    EXPECT_GT(between, 0) << strategy;
    EXPECT_GT(within, 0) << strategy;
  }
}

TEST(HostTraining, ARecordOverHostsIsReplayed) {
  Trial trial = trial_on(2, 2, "async_sgd", false);
  std::vector<TrainingOutcome> outcomes(2), again(2);
  on_joined_hosts(2, [&](const HostSpan& hosts) {
    outcomes[hosts.number] = testing::run(trial, {}, [&](TrainingRequest& request) { request.hosts = hosts, request.record = true; });
  });
  const ScheduleLog& record = outcomes[0].record;
  ASSERT_EQ(record.ranks.size(), 4u);
  std::size_t gradients = 0;
  for (const ScheduleLog::Lines& lines : record.ranks) {
    if (lines.contains("gradients")) gradients += lines.at("gradients").size();
  }
  EXPECT_EQ(gradients, 2 * 61u) << "draws of 12 samples";
  on_joined_hosts(2, [&](const HostSpan& hosts) {
    again[hosts.number] = testing::run(trial, {}, [&](TrainingRequest& request) { request.hosts = hosts, request.replay = &record; });
  });
  EXPECT_EQ(again[0].result.weights_hash, outcomes[0].result.weights_hash);
}

TEST(HostTraining, AnErrorOnOneHostEndsTheOthers) {
  const Trial trial = trial_on(2, 1, "replicated", false);
  std::vector<std::string> errors(2);
  const auto train = [&](const HostSpan& hosts) {
    try {
      testing::run(trial, {}, [&](TrainingRequest& request) {
        request.hosts = hosts;
        if (hosts.number == 1) request.stop = [] { return true; };
      });
    } catch (const std::exception& error) {
      errors[hosts.number] = error.what();
      throw;
    }
  };
  EXPECT_THROW(on_joined_hosts(2, train), Interrupted);
  EXPECT_EQ(errors[1], Interrupted().what());
  EXPECT_EQ(errors[0], Aborted().what());
}

}  // namespace
}  // namespace mgcompare
