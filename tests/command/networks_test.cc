// Several networks in one experiment, and several runs in one report.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class NetworksCommand : public CommandTest {
 protected:
  // Two small networks on drawn digits.
  std::string config(const std::string& rest) const {
    fs::create_directories(place_.folder() / "models");
    place_.write("models/narrow.yaml", "layers: [flatten, {dense: 8}, tanh, {dense: 10}]\n");
    place_.write("models/wide.yaml", "layers: [flatten, {dense: 64}, tanh, {dense: 10}]\n");
    return place_.write("both.yaml",
                        "models: [narrow, models/wide.yaml]\ndata: {set: digits, train_samples: 512, test_samples: 128}\n"
                        "epochs: 2\nmeasure: {warm_up_steps: 1, level: quick}\n" + rest);
  }
  std::string file(const std::string& name) const { return text_of(place_.folder() / name); }
};

const std::string kTwoStrategies = "scaling: {devices: [cpu:1, cpu:2], batch: 64}\nstrategies: [serial, replicated]\n";

TEST_F(NetworksCommand, RunAsOneExperiment) {
  const std::string both = config(kTwoStrategies);
  const Ended planned = place_.run({both, "--dry-run"});
  EXPECT_THAT(planned.out, AllOf(HasSubstr("network  strategy"), HasSubstr("narrow   serial"), HasSubstr("wide     replicated")));
  const Ended first = place_.run({both, "-o", "run", "--only", "model=narrow"});
  ASSERT_EQ(first.code, 0) << first.err;
  for (const Row& row : read_run((place_.folder() / "run").string()).rows) EXPECT_EQ(row.trial.network, "narrow");
  // The other network is added to the run; finished trials stay.
  const Ended resumed = place_.run({both, "-o", "run", "--resume"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("4 of 8 trials have their results already"));
  const auto run = read_run((place_.folder() / "run").string());
  std::map<std::string, std::set<std::uint64_t>> parameters;
  for (const Row& row : run.rows) {
    EXPECT_EQ(row.result.status, TrialStatus::done) << row_name(row.trial) << ": " << row.result.cause;
    EXPECT_EQ(row.config->model.name, row.trial.network);
    parameters[row.trial.network].insert(row.result.parameters);
  }
  EXPECT_EQ(parameters, (std::map<std::string, std::set<std::uint64_t>>{{"narrow", {28 * 28 * 8 + 8 + 80 + 10}}, {"wide", {28 * 28 * 64 + 64 + 640 + 10}}}));
  EXPECT_THAT(resumed.out, AllOf(StartsWith("narrow\n"), HasSubstr("\nwide\n"), HasSubstr("network  strategy")));
  const nlohmann::json json = nlohmann::json::parse(file("run/results.json"));
  for (const nlohmann::json& row : json.at("rows")) {
    const std::string name = row.at("row"), model = row.at("model");
    EXPECT_EQ(name.find(model + ": "), 0u);
    if (row.at("compared_with").is_null()) continue;
    EXPECT_EQ(row.at("compared_with").get<std::string>(), model + ": serial cpu:1 batch 64");
  }
  EXPECT_EQ(place_.run({"compare", "run", "run"}).code, 0);
  const Ended exported = place_.run({"export", "run", "--mllog"});
  EXPECT_EQ(exported.code, 0) << exported.err;
  EXPECT_EQ(place_.run({both, "-o", "run", "--resume", "--set", "models=[narrow]"}).code, 5) << "another experiment";
}

TEST_F(NetworksCommand, AreEachVerified) {
  const std::string both = config("strategies: [replicated]\n");
  const Ended ended = place_.run({"verify", both, "--quick", "--json", "--seed", "1", "--only", "strategy=replicated"});
  ASSERT_EQ(ended.code, 0) << ended.err << ended.out;
  const nlohmann::json json = nlohmann::json::parse(ended.out);
  ASSERT_EQ(json.at("networks").size(), 2u);
  EXPECT_EQ(json["networks"][1].at("network"), "wide");
  EXPECT_FALSE(json["networks"][1].at("findings").empty());
  const Ended wrong = place_.run({"verify", both, "--quick", "--only", "model=wid"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("there is no network 'wid'; there are narrow and wide"));
}

TEST_F(NetworksCommand, RunsAreMergedIntoOneReport) {
  const std::string both = config(kTwoStrategies);
  ASSERT_EQ(place_.run({both, "-o", "a", "--set", "models=[narrow]"}).code, 0);
  ASSERT_EQ(place_.run({both, "-o", "b", "--set", "models=[wide]", "--set", "epochs=3"}).code, 0);
  const std::string before = file("a/report.md");
  const Ended merged = place_.run({"report", "a", "b", "-o", "merged"});
  ASSERT_EQ(merged.code, 0) << merged.err;
  EXPECT_THAT(merged.out, AllOf(HasSubstr("infrastructure"), HasSubstr("network"), HasSubstr("differ in epochs"), HasSubstr("merged/report.html")));
  for (const char* name : {"report.html", "report.md", "results.csv", "results.json"}) EXPECT_TRUE(fs::exists(place_.folder() / "merged" / name)) << name;
  EXPECT_EQ(nlohmann::json::parse(file("merged/results.json")).at("runs").size(), 2u);
  EXPECT_EQ(file("a/report.md"), before);
  const Ended taken = place_.run({"report", "a", "b", "-o", "a"});
  EXPECT_EQ(taken.code, 2);
  EXPECT_THAT(taken.err, HasSubstr("is the directory of a run"));
  EXPECT_EQ(place_.run({"report", "b", "-o", "a"}).code, 2) << "of another run";
  EXPECT_EQ(file("a/report.md"), before);
  EXPECT_EQ(place_.run({"report", "a", "-o", "./a"}).code, 0) << "its own";
  const Ended by_default = place_.run({"report", "a", "b"});
  EXPECT_EQ(by_default.code, 0) << by_default.err;
  EXPECT_THAT(by_default.out, HasSubstr("runs/merged-"));
}

TEST_F(NetworksCommand, ABatchThatDoesNotFitNamesTheOneThatDoes) {
  const std::string large = place_.write("large.yaml",
                                         "layers: [{conv: {channels: 64, kernel: 5, padding: 2}}, relu, flatten, {dense: 10}]\n"
                                         "data: {set: digits, train_samples: 4096, test_samples: 700}\nepochs: 1\n"
                                         "scaling: {devices: [cpu:1], batch: 4096}\nmeasure: {memory_limit: 0.4, level: quick}\n"
                                         "strategies: [serial]\n");
  const Ended ended = place_.run({large, "-o", "run", "--only", "seed=1"});
  EXPECT_EQ(ended.code, 3) << ended.err;
  const auto run = read_run((place_.folder() / "run").string());
  const Result& result = run.rows.front().result;
  EXPECT_EQ(result.status, TrialStatus::out_of_memory) << result.cause;
  EXPECT_THAT(result.cause, AllOf(HasSubstr("asked "), HasSubstr(", free "), HasSubstr(", total "), HasSubstr("; a batch of "), HasSubstr(" fits, one of ")));
  EXPECT_GT(result.fitting_batch, 0u);
  EXPECT_LT(result.fitting_batch, 4096u);
  EXPECT_THAT(ended.out, HasSubstr("the largest known to fit is "));
  // For a whole training, too.
  const Ended fits = place_.run({large, "-o", "smaller", "--only", "seed=1", "--set", "scaling.batch=" + std::to_string(result.fitting_batch)});
  EXPECT_EQ(fits.code, 0) << fits.out << fits.err;
}

}  // namespace
}  // namespace mgcompare
