// What a later session of a run may change: its price, and further trials; and what it may not.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "results/continuation.h"
#include "results/results_store.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

RunInfo info_with() {
  RunInfo info;
  info.program_version = "0.1.0";
  info.config_json = R"({"epochs": 2})";
  return info;
}

TEST(LaterSession, ChangesThePrice) {
  const Folder folder;
  RunInfo info = info_with();
  info.config_json = R"({"epochs": 2, "price_per_device_hour": 0.0})";
  ResultsStore(folder.path()).begin(info, shuffled_plan());
  info.config_json = R"({"epochs": 2, "price_per_device_hour": 3.5})";
  info.config_yaml = "price_per_device_hour: 3.5";
  ResultsStore results(folder.path());
  results.resume(info, shuffled_plan());
  EXPECT_EQ(results.read().info.config_json, info.config_json);
  EXPECT_EQ(results.read().info.config_yaml, info.config_yaml);
}

TEST(LaterSession, DoesNotRepeatRehearsalsThatTheStrategyRefuses) {
  const Folder folder;
  std::vector<Trial> trials = shuffled_plan();
  for (Trial& trial : trials) trial.rehearsal = trial.number == 3;
  {
    ResultsStore results(folder.path());
    results.begin(info_with(), trials);
    for (const Trial& trial : trials) {
      Result result = make_result(1000, 8, 0.985);
      if (trial.rehearsal) result.status = TrialStatus::unavailable;
      results.start(trial);
      results.add(trial, result);
    }
  }
  ResultsStore results(folder.path());
  EXPECT_TRUE(results.resume(info_with(), trials).empty());
  for (const Row& row : results.read().rows) EXPECT_EQ(row.state, RowState::finished);
}

// An instruction set that oneDNN may not use makes one half of a run slower.
TEST(LaterSession, MixesNoEnvironments) {
  const Folder folder;
  RunInfo first = info_with();
  first.environment = {{"CUDA", "13.0"}, {"CUDA_VISIBLE_DEVICES", "0"}, {"NCCL_DEBUG", "INFO"}, {"OMP_NUM_THREADS", "1"}};
  ResultsStore(folder.path()).begin(first, shuffled_plan());
  ResultsStore results(folder.path());
  RunInfo other = first;
  other.environment[3].second = "2";
  EXPECT_THAT([&] { results.resume(other, shuffled_plan()); }, ThrowsMessage<InUse>(HasSubstr("the run was begun with OMP_NUM_THREADS=1, which is 2 now")));
  other.environment.pop_back();
  EXPECT_THAT([&] { results.resume(other, shuffled_plan()); }, ThrowsMessage<InUse>(HasSubstr("OMP_NUM_THREADS=1, which is not set now")));
  other = first;
  other.environment.emplace_back("ONEDNN_MAX_CPU_ISA", "SSE41");
  EXPECT_THAT([&] { results.resume(other, shuffled_plan()); }, ThrowsMessage<InUse>(HasSubstr("no ONEDNN_MAX_CPU_ISA, which is SSE41 now")));
  RunInfo alike = first;
  alike.environment[1].second = "1", alike.environment[2].second = "WARN";
  results.resume(alike, shuffled_plan());
  // Trials that failed run again.
  for (const Trial& trial : shuffled_plan()) {
    results.start(trial);
    Result result = make_result(100, 1, 0.9);
    if (trial.number == shuffled_plan()[0].number) result.status = TrialStatus::crashed;
    results.add(trial, result);
  }
  EXPECT_THROW(results.resume(other, shuffled_plan()), InUse);
  std::vector<Trial> rest = shuffled_plan();
  rest.erase(rest.begin());
  results.resume(other, rest, true);
  EXPECT_EQ(read_run(folder.path()).info.environment, alike.environment) << "nothing of that part is left to train";
}

TEST(LaterSession, KeepsTheHighestLoadBeforeASessionThatTrained) {
  const Folder folder;
  const auto with_load = [](const char* load) {
    RunInfo info = info_with();
    info.environment = {{"cpu", "same"}, {kLoadBefore, load}};
    return info;
  };
  const auto stored = [&] { return read_run(folder.path()).info.environment.back().second; };
  ResultsStore results(folder.path());
  results.begin(with_load("3.10"), shuffled_plan());
  results.resume(with_load("0.20"), shuffled_plan());
  EXPECT_EQ(stored(), "3.10");
  results.resume(with_load("12.00"), shuffled_plan());
  EXPECT_EQ(stored(), "12.00");
  for (const Trial& trial : shuffled_plan()) {
    results.start(trial);
    results.add(trial, make_result(100, 1, 0.9));
  }
  results.resume(with_load("40.00"), shuffled_plan());
  EXPECT_EQ(stored(), "12.00") << "a session that trains nothing";
}

// Such as one whose data are refused: an empty run would be in the way of the next one.
TEST(LaterSession, ASessionThatBeginsNoRunLeavesNothing) {
  const Folder folder;
  { const ResultsStore results(folder.path("new")); }
  EXPECT_FALSE(std::filesystem::exists(folder.path("new")));
  std::filesystem::create_directory(folder.path("own"));
  { const ResultsStore results(folder.path("own")); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("own"))) << "the directory was there before";
  {
    const ResultsStore results(folder.path("words"));
    std::ofstream(folder.path("words/worker.log")) << "last words\n";
  }
  EXPECT_TRUE(std::filesystem::exists(folder.path("words/worker.log")));
  EXPECT_FALSE(has_run(folder.path("words")));
  ResultsStore(folder.path("run")).begin(info_with(), shuffled_plan());
  { const ResultsStore results(folder.path("run")); }
  EXPECT_TRUE(has_run(folder.path("run")));
}

TEST(LaterSession, AddsTrials) {
  const Folder folder;
  {
    ResultsStore results(folder.path());
    results.begin(info_with(), shuffled_plan());
    results.extend({make_trial(1'000'001, "alone", 1, 9), make_trial(1'000'002, "together", 2, 9)});
    EXPECT_EQ(results.unfinished(), (std::vector<int>{2, 1, 3, 1'000'001, 1'000'002}));
    EXPECT_TRUE(results.blocks().contains(9));
    EXPECT_FALSE(results.blocks().contains(8));
    results.add(make_trial(1'000'001, "alone", 1, 9), make_result(1000, 8, 0.98));
  }
  const auto run = read_run(folder.path());
  EXPECT_EQ(run.rows.size(), 5u);
  EXPECT_EQ(run.rows[3].result.status, TrialStatus::done);
  EXPECT_TRUE(run.info.taints.empty()) << run.info.taints.front();
}

}  // namespace
}  // namespace mgcompare
