// Predictions of rows on several hosts from a run on one.

#include "reports/host_prediction.h"

#include <gmock/gmock.h>

#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kWork = 10e-3, kWithin = 1e-3, kBytes = 1e6;

// A step with so much exchange. `every`: steps between two exchanges.
Result with_exchange(std::size_t devices, double exchange, double every = 1) {
  const double compute = kWork / static_cast<double>(devices), step = compute + exchange;
  Result result = make_result(128 / step, 5, 0.98);
  result.steps = 100;
  result.seconds_training = 100 * step;
  result.bytes_per_step = devices == 1 ? 0 : kBytes * 2 * static_cast<double>(devices - 1) / static_cast<double>(devices) / every;
  result.ranks.assign(devices, {.compute = 100 * compute, .exchange = 100 * exchange});
  result.placement.assign(devices, {});
  for (RankPlacement& rank : result.placement)
    if (devices > 1) rank.sent.push_back({.call = "all_reduce", .over = "memory", .calls = 1 / every, .bytes = result.bytes_per_step});
  return result;
}

mgcompare::Run one_host(double every = 1) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, with_exchange(1, 0));
    for (const std::size_t devices : {2, 4}) maker.add("together", devices, seed, with_exchange(devices, kWithin, every));
  }
  return maker.run;
}

const LinkModel kLink{"wire", "given", 1e-3, 1e8};

TEST(PredictHosts, ReplaceTheExchangeByThatOverTheLink) {
  const mgcompare::Run run = one_host();
  const Comparison comparison = compare_rows(run);
  const std::vector<HostPrediction> all = predict_hosts(comparison, 2, kLink, nullptr);
  ASSERT_THAT(all, SizeIs(2));
  // 2x1: two messages and 1 MB.
  EXPECT_EQ(all[0].problem, "");
  EXPECT_NEAR(all[0].exchange, 2e-3 + 1e-2, 1e-9);
  EXPECT_NEAR(all[0].step, kWork / 2 + all[0].exchange, 1e-9);
  EXPECT_NEAR(all[0].speed_up, kWork / all[0].step, 1e-9);
  EXPECT_FALSE(all[0].measured.has_value());
  // 2x2: two hosts send as much as before, and each has an exchange of its own.
  EXPECT_NEAR(all[1].step, kWork / 4 + kWithin + all[0].exchange, 1e-9);
  EXPECT_THAT(predict_hosts(comparison, 3, kLink, nullptr), IsEmpty());
}

TEST(PredictHosts, RareExchangesWaitForFewMessages) {
  const mgcompare::Run run = one_host(8);
  const std::vector<HostPrediction> all = predict_hosts(compare_rows(run), 2, kLink, nullptr);
  ASSERT_FALSE(all.empty());
  EXPECT_NEAR(all[0].exchange, (2e-3 + 1e-2) / 8, 1e-9);
}

TEST(PredictHosts, TheErrorStandsBesideIt) {
  const mgcompare::Run run = one_host();
  RunMaker other;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    other.baseline(seed, with_exchange(1, 0));
    other.add("together", 2, seed, with_exchange(2, 15e-3));  // predicted: 12 ms
    other.run.rows.back().trial.hosts = 2;
  }
  const Comparison measured = compare_rows(other.run), comparison = compare_rows(run);
  const std::vector<HostPrediction> all = predict_hosts(comparison, 2, kLink, &measured);
  ASSERT_FALSE(all.empty());
  ASSERT_TRUE(all[0].measured.has_value());
  EXPECT_NEAR(*all[0].measured, 0.5, 1e-9);
  const Table table = host_prediction_table(all, 2, kLink);
  ASSERT_THAT(table.lines, SizeIs(2));
  EXPECT_THAT(table.lines[0], ElementsAre("together", "128", "cpu:2x1", "17.0 ms", "71 %", "0.588", "0.5", "+18 %"));
  EXPECT_THAT(*host_prediction_errors(all), HasSubstr("Error of 1 predictions against the measured rows: median 18 %, largest 18 %."));
}

// The rows of one_host() on two devices, as they were on two hosts.
RunMaker two_hosts() {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, with_exchange(1, 0));
    maker.add("together", 2, seed, with_exchange(2, 15e-3));
    maker.run.rows.back().trial.hosts = 2;
  }
  return maker;
}

TEST(PredictHosts, OnlyTheSameRowIsAMeasurement) {
  const mgcompare::Run run = one_host();
  const auto sentences = [&](const mgcompare::Run& other) {
    const Comparison measured = compare_rows(other), comparison = compare_rows(run);
    const std::vector<HostPrediction> all = predict_hosts(comparison, 2, kLink, &measured);
    EXPECT_FALSE(all.at(0).measured.has_value());
    EXPECT_FALSE(host_prediction_errors(all).has_value());
    return host_prediction_problems(all);
  };
  const auto with_config = [&](const auto& change) {
    mgcompare::Run other = two_hosts().run;
    for (Row& row : other.rows) {
      Config config = *row.config;
      change(config);
      row.config = std::make_shared<const Config>(config);
    }
    return sentences(other);
  };
  const auto differs_in = [](const std::string& keys) {
    return testing::Contains("No measured figure for together on 2 CPU cores, batch 128: its row in the measured run has another config (different: " + keys + ").");
  };
  EXPECT_THAT(with_config([](Config& config) { config.data.train_samples = 77; }), differs_in("data.train_samples"));
  EXPECT_THAT(with_config([](Config& config) { config.optimizer.learning_rate = 0.7; }), differs_in("optimizer.learning_rate"));
  EXPECT_THAT(with_config([](Config& config) { config.deterministic = true; }), differs_in("numerics.deterministic"));
  EXPECT_THAT(with_config([](Config& config) { config.model.layers.push_back(config.model.layers.back()); }), testing::Contains(HasSubstr("(different: layers.")));
  mgcompare::Run other = two_hosts().run;
  other.info.data_fingerprint = "0123";
  EXPECT_THAT(sentences(other), testing::Contains(HasSubstr("the measured run was trained on other data")));
  other = two_hosts().run;
  for (Row& row : other.rows) row.trial.hosts = 1;
  EXPECT_THAT(sentences(other), testing::Contains(HasSubstr("the measured run has no such row on 2 hosts")));
  other = two_hosts().run;
  for (Row& row : other.rows)
    if (row.trial.devices == 2) row.result.seconds_stood_still = row.result.seconds_training;
  EXPECT_THAT(sentences(other), testing::Contains(HasSubstr("its row in the measured run is marked: stood still for")));
  Comparison none;
  EXPECT_THAT(host_prediction_problems(predict_hosts(compare_rows(run), 2, kLink, &none)), testing::Contains(HasSubstr("has no such row on 2 hosts")));
}

// What a run of several hosts has by design is no difference.
TEST(PredictHosts, ARowOfAnotherPlanIsAMeasurement) {
  mgcompare::Run run = one_host(), other = two_hosts().run;
  const auto change = [](mgcompare::Run& changed, const auto& edit) {
    for (Row& row : changed.rows) {
      Config config = *row.config;
      edit(config);
      row.config = std::make_shared<const Config>(config);
    }
  };
  change(run, [](Config& config) { config.data.validation = "/here/validation.csv"; });
  change(other, [](Config& config) {
    config.hosts.names = {"a", "b"};
    config.seeds = {1, 2, 3, 4};
    config.data.path = "/elsewhere";
    config.data.validation = "/elsewhere/validation.csv";
  });
  const Comparison measured = compare_rows(other), comparison = compare_rows(run);
  EXPECT_TRUE(predict_hosts(comparison, 2, kLink, &measured).at(0).measured.has_value());
}

TEST(PredictHosts, SayWhyThereIsNone) {
  mgcompare::Run run = one_host();
  for (Row& row : run.rows)
    if (row.trial.devices == 2) row.result.traits["pace"] = "free";
  const std::vector<HostPrediction> all = predict_hosts(compare_rows(run), 2, kLink, nullptr);
  EXPECT_THAT(host_prediction_problems(all), testing::Contains(HasSubstr("its ranks run in free pace")));
  for (Row& row : run.rows) row.result.seconds_stood_still = row.result.seconds_training;
  EXPECT_THAT(host_prediction_problems(predict_hosts(compare_rows(run), 2, kLink, nullptr)), testing::Contains(HasSubstr("its row is marked: stood still for")));
}

}  // namespace
}  // namespace mgcompare
