#include "reports/mllog.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "results/runs.h"

namespace mgcompare {
namespace {

TEST(Mllog, TellsATrialInOrder) {
  const mgcompare::Run run = three_by_three();
  std::istringstream lines(mllog(run, run.rows[0]));
  std::vector<std::string> keys;
  double last = 0;
  std::map<std::string, nlohmann::json> values;
  for (std::string line; std::getline(lines, line);) {
    ASSERT_TRUE(line.starts_with(":::MLLOG ")) << line;
    const nlohmann::json json = nlohmann::json::parse(line.substr(9));
    keys.push_back(json["key"]);
    values[json["key"]] = json["value"];
    EXPECT_GE(json["time_ms"].get<double>(), last);
    last = json["time_ms"];
  }
  EXPECT_THAT(keys, testing::IsSupersetOf({"submission_benchmark", "seed", "global_batch_size", "init_start", "init_stop",
                                           "run_start", "epoch_start", "epoch_stop", "eval_start", "eval_stop",
                                           "eval_accuracy", "run_stop"}));
  EXPECT_EQ(std::count(keys.begin(), keys.end(), "eval_accuracy"), 2);
  EXPECT_EQ(values["global_batch_size"], 128);
  EXPECT_NEAR(values["eval_accuracy"].get<double>(), 0.985, 1e-12);
  // 2024-05-01T12:00:00Z, 10 s of training and two evaluations of 0.1 s.
  EXPECT_EQ(last, 1714564810200);
}

// The target may be reached there.
TEST(Mllog, HasTheEvaluationsWithinEpochs) {
  RunMaker maker;
  Row& row = maker.add("together", 2, 1, make_result(100, 0, 0.5));
  EpochResult& epoch = row.result.epochs.front();
  epoch.seconds_training = 4;
  epoch.seconds_evaluation = 0.5;
  epoch.evaluations = {{.epochs = 0.25, .seconds_training = 1, .accuracy = 0.75}};
  std::istringstream lines(mllog(maker.run, row));
  std::vector<std::pair<double, double>> seen;  // numbers and accuracies
  std::vector<double> times;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line.substr(9));
    if (json["key"] == "run_start" || json["key"] == "eval_stop") times.push_back(json["time_ms"]);
    if (json["key"] == "eval_accuracy") seen.emplace_back(json["metadata"]["epoch_num"], json["value"]);
  }
  ASSERT_GE(seen.size(), 2u);
  EXPECT_EQ(seen[0], (std::pair{0.25, 0.75}));
  EXPECT_EQ(seen[1], (std::pair{1.0, epoch.accuracy}));
  EXPECT_NEAR(times[1] - times[0], 1250, 1);
  EXPECT_NEAR(times[2] - times[0], 4500, 1);
}

TEST(Mllog, SaysThatATargetWasNotReached) {
  RunMaker maker;
  Row& row = maker.add("together", 2, 1, make_result(100, 0, 0.5));
  row.config = std::make_shared<Config>(*row.config);
  const_cast<Config&>(*row.config).target_accuracy = 0.9;
  EXPECT_THAT(mllog(maker.run, row), testing::HasSubstr(R"({"status":"aborted","cause":"the target accuracy was not reached"})"));
  row.result.seconds_to_target = 1;
  EXPECT_THAT(mllog(maker.run, row), testing::HasSubstr(R"({"status":"success"})"));
}

TEST(Mllog, SaysThatATrialFailed) {
  RunMaker maker;
  maker.failed("together", 2, 1, "crashed", "SIGSEGV\nin step \"17\"");
  EXPECT_THAT(mllog(maker.run, maker.run.rows[0]),
              testing::HasSubstr(R"("metadata":{"status":"aborted","cause":"SIGSEGV in step \"17\""})"));
  EXPECT_THAT(mllog(maker.run, maker.run.rows[0]), testing::Not(testing::HasSubstr("throughput")));
}

}  // namespace
}  // namespace mgcompare
