// What a later session of a run may change: its price, and further trials.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "results/results_store.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

RunInfo info_with() {
  RunInfo info;
  info.program_version = "0.1.0";
  info.config_json = R"({"epochs": 2})";
  return info;
}

std::vector<Trial> plan() {
  return {make_trial(2, "together", 2, 1), make_trial(1, "alone", 1, 1), make_trial(3, "apart", 2, 1)};
}

TEST(LaterSession, ChangesThePrice) {
  const Folder folder;
  RunInfo info = info_with();
  info.config_json = R"({"epochs": 2, "price_per_device_hour": 0.0})";
  ResultsStore(folder.path()).begin(info, plan());
  info.config_json = R"({"epochs": 2, "price_per_device_hour": 3.5})";
  info.config_yaml = "price_per_device_hour: 3.5";
  ResultsStore results(folder.path());
  results.resume(info, plan());
  EXPECT_EQ(results.read().info.config_json, info.config_json);
  EXPECT_EQ(results.read().info.config_yaml, info.config_yaml);
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
  ResultsStore(folder.path("run")).begin(info_with(), plan());
  { const ResultsStore results(folder.path("run")); }
  EXPECT_TRUE(has_run(folder.path("run")));
}

TEST(LaterSession, AddsTrials) {
  const Folder folder;
  {
    ResultsStore results(folder.path());
    results.begin(info_with(), plan());
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
