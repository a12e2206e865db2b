#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::HasSubstr;

TEST(ResultJson, KeepsEveryField) {
  Result result = make_result(1234.5, 3.25, 0.99);
  result.status = TrialStatus::diverged;
  result.cause = "step 12, loss is nan";
  result.log = {"one", "two"};
  result.accuracy_spread = 0.01;
  result.seconds_worker_start = 0.1;
  result.seconds_setup = 0.2;
  result.seconds_warm_up = 0.3;
  result.seconds_evaluation = 0.4;
  result.seconds_checkpoint = 0.5;
  result.step_seconds_median = 0.006;
  result.harness_share = 0.007;
  result.peak_memory = 1ull << 40;
  result.metrics = {{{"staleness", {.mean = 1.5, .least = 0, .most = 7, .last = 2, .count = 99, .counts = {90, 9}}}}, {}};
  result.placement = {{"cuda:1", {{"weights and gradients", "cuda:1", 8}}, {{"all_reduce", "the host link", 1.5, 6}}}};
  result.windows = {{30, 3840, 0.5}, {31, 3968, 0.25}};
  result.notes = {"oversubscribed"};
  result.seconds_other_threads = 0.25;
  result.seconds_rank_threads = 1.5;
  result.seconds_stood_still = 2.5;
  result.changed_settings = "the priority";
  result.exclusive_sections = 12;
  result.shared = {{"Board", "host", 99}};
  result.epochs[0].sketch = "12345678";
  result.samples_due = 10'000;
  result.samples_ignored = 7;
  result.samples_only_passed = 11;
  result.samples_judged_again = 12;
  result.exchange_calls = {{100, 0.1, 0.2, 0.3}};
  result.exchange_call_steps = 24;
  result.seconds_late = 3e-5;
  result.samples_evaluated = 2000, result.framework = "F", result.framework_version = "1.2", result.like = "alone", result.versions = {{"cuda", "12"}};
  result.record_sha256 = "e3b0";
  const nlohmann::json json = result;
  // Equal again, and not only because everything was omitted.
  EXPECT_EQ(nlohmann::json(json.get<Result>()), json);
  EXPECT_EQ(json.size(), 49u);
  const Result back = json.get<Result>();
  EXPECT_EQ(back.peak_memory, 1ull << 40);
  EXPECT_EQ(back.metrics.at(0).at("staleness").count, 99u);
  EXPECT_EQ(back.metrics.at(0).at("staleness").counts, (std::vector<std::uint64_t>{90, 9}));
  EXPECT_EQ(back.epochs.at(1).accuracy, 0.99);
  EXPECT_EQ(back.epochs.at(0).sketch, "12345678");
  EXPECT_EQ(back.shared.at(0).bytes, 99u);
  EXPECT_EQ(back.samples_due, 10'000u);
  EXPECT_EQ(back.samples_ignored, 7);
  EXPECT_EQ(back.samples_only_passed, 11u);
  EXPECT_EQ(back.samples_judged_again, 12u);
  EXPECT_EQ(back.exchange_calls.at(0).join, 0.2);
  EXPECT_EQ(back.exchange_call_steps, 24u);
  EXPECT_EQ(back.seconds_late, 3e-5);
  EXPECT_EQ(back.framework + back.framework_version + back.like + back.versions.at("cuda"), "F1.2alone12");
  EXPECT_EQ(back.record_sha256, "e3b0");
  EXPECT_EQ(back.exclusive_sections, 12u);
  EXPECT_EQ(back.seconds_other_threads, 0.25);
  EXPECT_EQ(back.seconds_rank_threads, 1.5);
  EXPECT_EQ(back.seconds_stood_still, 2.5);
  EXPECT_EQ(back.changed_settings, "the priority");
  EXPECT_EQ(back.windows.at(1).steps, 31u);
  EXPECT_EQ(back.windows.at(1).samples_per_second(), 15872);
  EXPECT_EQ(back.ranks.at(0).waiting, result.ranks[0].waiting);
  EXPECT_EQ(back.traits, result.traits);
  EXPECT_EQ(back.placement.at(0).kept.at(0).bytes, 8u);
  EXPECT_EQ(back.placement.at(0).sent.at(0).calls, 1.5);
}

TEST(ResultJson, HasNoWordForNan) {
  Result result;
  result.accuracy = std::numeric_limits<double>::quiet_NaN();
  result.epochs.push_back({.loss = std::numeric_limits<double>::infinity()});
  const std::string text = nlohmann::json(result).dump();
  EXPECT_THAT(text, HasSubstr("\"accuracy\":null"));
  const Result back = nlohmann::json::parse(text).get<Result>();
  EXPECT_TRUE(std::isnan(back.accuracy));
  EXPECT_TRUE(std::isnan(back.epochs.at(0).loss));
}

TEST(ResultJson, ReadsOlderAndNewerVersionsAndRefusesNonsense) {
  EXPECT_EQ(nlohmann::json::parse(R"({"status": "done", "of_tomorrow": [1]})").get<Result>().status, TrialStatus::done);
  EXPECT_THROW(nlohmann::json::parse(R"({"steps": "many"})").get<Result>(), Error);
  EXPECT_THROW(nlohmann::json::parse(R"({"epochs": {}})").get<Result>(), Error);
  EXPECT_THROW(nlohmann::json::parse("[]").get<Result>(), Error);
}

}  // namespace
}  // namespace mgcompare
