#include "measure/trace.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "fixture.h"
#include "measure/steady_state.h"

namespace mgcompare {
namespace {

TEST(Trace, HasEveryStretchOfAStepByItsName) {
  using enum Phase;
  Trace trace;
  trace.add(3, 10, 20, {{strategy, nullptr, 10, 12}, {compute, nullptr, 12, 15}, {waiting, nullptr, 15, 16},
                        {exchange, "all_reduce", 16, 18}, {outside, nullptr, 18, 20}});
  std::vector<std::string> names;
  double end = 10;
  for (const Trace::Span& span : trace.spans()) {
    names.push_back(span.name);
    if (span.name == "step 3") {
      EXPECT_EQ(span.seconds, 10);
      continue;
    }
    EXPECT_EQ(span.begin, end) << span.name;
    end = span.begin + span.seconds;
  }
  EXPECT_EQ(end, 20);
  EXPECT_EQ(names, (std::vector<std::string>{"step 3", "strategy", "compute", "waiting", "all_reduce", "host"}));
}

TEST(Trace, WantsAFewSteps) {
  Trace trace;
  std::size_t steps = 0;
  for (; trace.wants_more(); ++steps) trace.add(steps, 0, 1, {});
  EXPECT_EQ(steps, Trace::kSteps);
}

// The trace of a whole trial has the parts of its steps, and the exchanges by the names of their calls.
TEST(Trace, OfATrialHasItsParts) {
  const std::string file = (std::filesystem::path(::testing::TempDir()) / ("parts." + std::to_string(getpid()))).string();
  mgcompare::testing::run(mgcompare::testing::small_trial(2, "replicated"), {},
                          [&](TrainingRequest& request) { request.files.trace = file; });
  std::ifstream text(file);
  std::set<std::string> names;
  const nlohmann::json json = nlohmann::json::parse(text);
  for (const nlohmann::json& event : json["traceEvents"]) names.insert(event["name"].get<std::string>());
  for (const char* name : {"step 0", "step 7", "input", "compute", "all_reduce", "optimizer", "strategy"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_FALSE(names.contains("step 8"));
  std::filesystem::remove(file);
}

TEST(Trace, IsATraceEventFile) {
  Trace one, other;
  one.add(0, 100, 101, {{Phase::compute, nullptr, 100, 101}});
  other.add(0, 100.5, 102, {{Phase::compute, nullptr, 100.5, 102}});
  const nlohmann::json json = nlohmann::json::parse(trace_json("title", {one, other}));
  const nlohmann::json& events = json["traceEvents"];
  EXPECT_EQ(events[0]["args"]["name"], "title");
  std::size_t complete = 0;
  for (const nlohmann::json& event : events) {
    if (event["ph"] != "X") continue;
    ++complete;
    EXPECT_GE(event["ts"].get<double>(), 0);
    EXPECT_LE(event["ts"].get<double>() + event["dur"].get<double>(), 2e6);
  }
  EXPECT_EQ(complete, 4u);
}

TEST(SteadyStateDetector, EndsWhenThreeWindowsAgree) {
  SteadyStateDetector warm_up(0);
  double now = 0;
  // Rounds that still get faster; each is one window.
  for (const double seconds : {1.2, 0.9, 0.7, 0.62, 0.6}) {
    warm_up.add(now += seconds);
    EXPECT_FALSE(warm_up.is_over()) << seconds;
  }
  warm_up.add(now += 0.6);
  EXPECT_TRUE(warm_up.is_over());
}

TEST(SteadyStateDetector, WindowsAreHalfASecondAndAllOfItIsFive) {
  SteadyStateDetector quick(0);
  for (int round = 1; round < 14; ++round) quick.add(0.1 * round);
  EXPECT_FALSE(quick.is_over());  // two windows of five rounds
  quick.add(1.4), quick.add(1.51);
  EXPECT_TRUE(quick.is_over());
  SteadyStateDetector restless(0);
  double now = 0, seconds = 0.5;
  while (now < 4.9) {
    EXPECT_FALSE(restless.is_over());
    restless.add(now += seconds);
    seconds = seconds < 0.6 ? 0.7 : 0.5;
  }
  restless.add(5.5);
  EXPECT_TRUE(restless.is_over());
}

TEST(SteadyStateDetector, OfNormalTrialsTakesATenthOfASecondAtMost) {
  // Steps of 10 ms, two per window; the third window agrees.
  SteadyStateDetector steady(0, kNormalLimits);
  for (int step = 1; step <= 5; ++step) steady.add(0.0101 * step);
  EXPECT_FALSE(steady.is_over());
  steady.add(0.0606);
  EXPECT_TRUE(steady.is_over());
  SteadyStateDetector slow(0, kNormalLimits);
  slow.add(0.099);
  EXPECT_FALSE(slow.is_over());
  slow.add(0.198);
  EXPECT_TRUE(slow.is_over());
}

// GPUs replay steps as graphs, wherever the samples are, unless the host must issue each step. The note depends on the
// trial's device kind, so CPU devices can be used here.
TEST(Trace, IsNotedWhereItTookTheGraphsAway) {
  const std::string file = (std::filesystem::path(::testing::TempDir()) / ("trace." + std::to_string(getpid()))).string();
  const auto notes = [&](DeviceKind kind, const std::string& data_on, const std::string& trace) {
    Trial trial = mgcompare::testing::small_trial(1, "serial");
    trial.device_kind = kind;
    trial.config.data.on = kind_named<DataLocation>(data_on);
    std::string all;
    const TrainingOutcome outcome =
        mgcompare::testing::run(trial, {}, [&](TrainingRequest& request) { request.files.trace = trace; });
    for (const std::string& note : outcome.result.notes) all += note + "\n";
    return all;
  };
  const std::string told = "ran without CUDA graphs because a trace was written";
  EXPECT_NE(notes(DeviceKind::cuda, "device", file).find(told), std::string::npos);
  EXPECT_EQ(notes(DeviceKind::cuda, "device", "").find(told), std::string::npos);
  EXPECT_NE(notes(DeviceKind::cuda, "host", file).find(told), std::string::npos);
  EXPECT_EQ(notes(DeviceKind::cpu, "device", file).find(told), std::string::npos);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace mgcompare
