// Reports of several networks, and of several runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/assets.h"
#include "reports/csv.h"
#include "reports/device_kinds.h"
#include "reports/html.h"
#include "reports/infrastructure.h"
#include "reports/markdown.h"
#include "reports/overview.h"
#include "reports/overview_findings.h"
#include "reports/regression.h"
#include "reports/repetition.h"
#include "reports/summary.h"
#include "runs.h"

namespace mgcompare {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Each network with a baseline and `together` on two devices; one has a speed-up of 1.6, the other of 0.5, and is ten times as fast.
mgcompare::Run two_networks() {
  RunMaker maker;
  const auto in = [](Row& row, const char* network) {
    Config config = *row.config;
    config.model.name = network;
    row.trial.network = network;
    row.config = std::make_shared<const Config>(config);
  };
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    in(maker.baseline(seed, make_result(1000, 8, 0.985)), "lenet");
    in(maker.baseline(seed, make_result(10'000, 2, 0.985)), "mlp");
    in(maker.add("together", 2, seed, make_result(1600, 5, 0.984)), "lenet");
    in(maker.add("together", 2, seed, make_result(5000, 4, 0.984)), "mlp");
  }
  return maker.run;
}

TEST(Networks, HaveTheirOwnBaselines) {
  const mgcompare::Run run = two_networks();
  const std::vector<Comparison> parts = compare_networks(run);
  ASSERT_THAT(parts, SizeIs(2));
  EXPECT_EQ(parts[0].network, "lenet");
  EXPECT_EQ(parts[1].network, "mlp");
  EXPECT_NEAR(parts[0].cells[1].speed_up.median, 1.6, 1e-9);
  EXPECT_NEAR(parts[1].cells[1].speed_up.median, 0.5, 1e-9);
  for (const Comparison& part : parts) EXPECT_EQ(part.trials, 6u);
  const Comparison all = compare_rows(run);
  ASSERT_THAT(all.cells, SizeIs(4));
  EXPECT_NEAR(all.cells[1].speed_up.median, 1.6, 1e-9);
  EXPECT_NEAR(all.cells[3].speed_up.median, 0.5, 1e-9);
}

TEST(Networks, HaveTheirOwnAnswers) {
  const std::string text = closing_summary(two_networks(), {});
  EXPECT_THAT(text, AllOf(StartsWith("lenet\nSeveral devices are faster"), HasSubstr("\n\nmlp\nSeveral devices do not pay"),
                          HasSubstr("network  strategy  devices"), HasSubstr("mlp      together  cpu:2")));
}

TEST(Networks, AreNamedWhereThereIsMoreThanOne) {
  const mgcompare::Run run = two_networks();
  const std::string text = markdown_report(overview_of(run));
  EXPECT_THAT(text, AllOf(HasSubstr("| network | strategy | devices |"), HasSubstr("| lenet | together | cpu:2 |"),
                          HasSubstr("| 1 | mlp | together | 128 |"), HasSubstr("**lenet**")));
  EXPECT_THAT(markdown_report(overview_of(three_by_three())), Not(HasSubstr("| network |")));
  EXPECT_THAT(csv_report(run), AllOf(HasSubstr(",mlp: together cpu:2 batch 128,"), HasSubstr(",mlp,cpu,2,")));
}

TEST(Networks, HavePanelsOnThePage) {
  const std::string page = html_report(overview_of(two_networks()), "");
  EXPECT_THAT(page, AllOf(HasSubstr("<h3>lenet</h3>"), HasSubstr("<h3>mlp</h3>"), HasSubstr("name=\"objective\""), HasSubstr("name=\"objective-2\""),
                          HasSubstr("lenet and mlp on mnist")));
  // All answers are at the top.
  EXPECT_THAT(page, AllOf(HasSubstr("<li><a href=\"#part\">lenet</a>: Several devices are faster: 1.60"),
                          HasSubstr("<li><a href=\"#part-2\">mlp</a>: Several devices do not pay: 0.50"), HasSubstr("id=\"part-2\"")));
  if (assets::chart_script().empty()) GTEST_SKIP() << "the program has no chart libraries";
  EXPECT_THAT(page, AllOf(HasSubstr("id=\"accuracy-epoch-0-lenet\""), HasSubstr("id=\"accuracy-epoch-0-mlp\""), HasSubstr("id=\"glance-2\""),
                          HasSubstr("Speed-up, at a glance, mlp"),
                          HasSubstr("<figcaption>mlp, global batch 128: 0.50x at best, by together on 2 CPU cores</figcaption>")));
  EXPECT_THAT(html_report(overview_of(three_by_three()), ""), Not(HasSubstr("class=\"briefs\"")));
}

TEST(Networks, AreNamedInTheCommandThatRepeatsARow) {
  EXPECT_THAT(repetition_of(two_networks()).command, HasSubstr("batch=128,model=lenet,variant=base"));
}

TEST(Networks, OfAnotherRunAreComparedByName) {
  const mgcompare::Run both = two_networks();
  mgcompare::Run one = two_networks();
  std::erase_if(one.rows, [](const Row& row) { return row.trial.network != "mlp"; });
  for (Row& row : one.rows) row.trial.network.clear();
  const Comparison before = compare_rows(one), after = compare_rows(both);
  const Regression forwards = compare_runs(before, after), backwards = compare_runs(after, before);
  EXPECT_THAT(forwards.rows, SizeIs(2));
  EXPECT_THAT(forwards.only_after, SizeIs(2));
  EXPECT_THAT(backwards.rows, SizeIs(2));
  EXPECT_THAT(backwards.only_before, ElementsAre(HasSubstr("lenet: "), HasSubstr("lenet: ")));
  for (const RowChange& row : forwards.rows) EXPECT_NEAR(row.speed.ratio.median, 1, 1e-9);
}

TEST(Networks, OfADamagedRowIsThatOfItsConfig) {
  mgcompare::Run run = two_networks();
  run.rows[3].trial.network.clear();
  EXPECT_THAT(compare_networks(run), SizeIs(2));
}

// The same experiment on another machine, with GPUs.
mgcompare::Run on_gpus(double factor = 20) {
  mgcompare::Run run = three_by_three();
  for (Row& row : run.rows) {
    row.trial.device_kind = DeviceKind::cuda;
    row.result.samples_per_second *= factor;
  }
  run.directory = "runs/gpus";
  run.info.environment = {{"cpu", "Imaginary 9000"}, {"cuda devices", "2"}, {"cuda:0", "NVIDIA H200"}, {"NCCL", "2.27"}};
  return run;
}

TEST(MergedRuns, KeepTheirOwnBaselinesAndNameTheirMachines) {
  const std::vector<mgcompare::Run> runs = {three_by_three(), on_gpus()};
  const Overview overview = merged(runs);
  ASSERT_THAT(overview.parts, SizeIs(2));
  EXPECT_EQ(overview.parts[0].infrastructure, "Imaginary 9000");
  EXPECT_EQ(overview.parts[1].infrastructure, "2 x H200");
  for (const Comparison& part : overview.parts) EXPECT_NEAR(part.cells[1].speed_up.median, 1.6, 0.02);
  const std::string text = markdown_report(overview);
  EXPECT_THAT(text, AllOf(HasSubstr("| infrastructure | strategy |"), HasSubstr("| 2 x H200 | together | cuda:2 |"), HasSubstr("**2 x H200**"),
                          HasSubstr("| 2 x H200 | lenet | together |"), Not(HasSubstr("| network |"))));
  EXPECT_THAT(csv_report(overview), AllOf(StartsWith("infrastructure,run,trial,"), HasSubstr("\r\n2 x H200,runs/gpus,1,")));
  EXPECT_THAT(closing_summary(overview, {}), AllOf(HasSubstr("infrastructure  strategy"), StartsWith("Imaginary 9000\n")));
  std::string json;
  json_report(overview, [&](std::string_view piece) { json += piece; });
  const nlohmann::json parsed = nlohmann::json::parse(json);
  ASSERT_THAT(parsed.at("runs"), SizeIs(2));
  EXPECT_EQ(parsed["runs"][1].at("infrastructure"), "2 x H200");
  EXPECT_THAT(html_report(overview, ""), HasSubstr("<h3>2 x H200</h3>"));
}

TEST(MergedRuns, OnEqualMachinesAreToldApartByWhatDiffers) {
  mgcompare::Run newer = on_gpus(), other = on_gpus();
  newer.info.environment.back().second = "2.28";
  EXPECT_THAT(short_names({on_gpus(), newer}), ElementsAre("2 x H200, NCCL 2.27", "2 x H200, NCCL 2.28"));
  other.directory = "runs/later/";
  EXPECT_THAT(short_names({on_gpus(), other}), ElementsAre("2 x H200, gpus", "2 x H200, later"));
  EXPECT_THAT(short_names({on_gpus(), on_gpus()}), ElementsAre("2 x H200", "2 x H200 #2"));
}

TEST(MergedRuns, WarnOfOtherSettingsAndData) {
  mgcompare::Run other = on_gpus();
  const std::vector<std::string> names = {"a", "b"};
  EXPECT_THAT(differences({three_by_three(), other}, names), IsEmpty());
  other.info.config_json = R"({"name": "large", "epochs": 3, "optimizer": {"learning_rate": 0.1}, "model": "x"})";
  other.info.data_fingerprint = "0";
  other.info.data_name = "digits";
  EXPECT_THAT(differences({three_by_three(), other}, names),
              ElementsAre(HasSubstr("a and b trained on different data: mnist and digits"),
                          "a and b differ in epochs and optimizer.learning_rate: a difference of their rows may be due to that"));
  const std::vector<mgcompare::Run> runs = {three_by_three(), other};
  EXPECT_THAT(closing_summary(merged(runs), {}), HasSubstr("trained on different data"));
}

TEST(MergedRuns, WarnOfOtherNetworksOfOneName) {
  mgcompare::Run other = on_gpus();
  const std::vector<std::string> names = {"a", "b"};
  const auto change = [&](const auto& f) {
    for (Row& row : other.rows) {
      auto config = std::make_shared<Config>(*row.config);
      f(config->model);
      row.config = config;
    }
  };
  ASSERT_FALSE(other.rows.empty());
  change([](ModelConfig& model) { model.layers.push_back({.type = LayerType::tanh, .name = "more"}); });
  const std::string name = other.rows.front().config->model.name;
  EXPECT_THAT(differences({on_gpus(), other}, names), ElementsAre("a and b have different networks under one name (" + name + "): their rows must not be compared"));
  change([](ModelConfig& model) { model.name = "another"; });
  EXPECT_THAT(differences({on_gpus(), other}, names), IsEmpty());
}

TEST(KindsOfDevices, AreComparedByTheirBaselines) {
  const std::vector<mgcompare::Run> runs = {three_by_three(), on_gpus(41)};
  const Table table = device_table(merged(runs));
  ASSERT_THAT(table.lines, SizeIs(1));
  EXPECT_EQ(table.lines[0][1], "one GPU (NVIDIA H200)");
  EXPECT_EQ(table.lines[0][2], "one CPU core (Imaginary 9000)");
  EXPECT_THAT(table.lines[0][4], StartsWith("41.00"));
  EXPECT_THAT(device_sentences(merged(runs)), ElementsAre(StartsWith("One GPU (NVIDIA H200) is 41.00")));
  EXPECT_THAT(closing_summary(merged(runs), {}), HasSubstr("times one CPU core (Imaginary 9000)"));
  EXPECT_THAT(html_report(merged(runs), ""), HasSubstr("Kinds of devices"));
}

TEST(KindsOfDevices, OfOneRunAreComparedToo) {
  mgcompare::Run run = three_by_three();
  const mgcompare::Run gpus = on_gpus(10);
  run.rows.insert(run.rows.end(), gpus.rows.begin(), gpus.rows.end());
  EXPECT_THAT(device_table(overview_of(run)).lines, SizeIs(1));
  EXPECT_THAT(device_table(overview_of(three_by_three())).lines, IsEmpty());
  EXPECT_THAT(device_sentences(overview_of(three_by_three())), IsEmpty());
}

TEST(RowFigures, AreInEveryFormat) {
  mgcompare::Run run = three_by_three();
  for (Row& row : run.rows) {
    Config config = *row.config;
    config.optimizer.learning_rate = 0.05;
    config.schedule.batch_rule = BatchRule::linear;
    config.schedule.base_batch = 64;
    config.schedule.kind = ScheduleKind::cosine;
    row.config = std::make_shared<const Config>(config);
    row.result.seconds_setup = 0.5;
    row.result.seconds_warm_up = 0.25;
    row.result.seconds_evaluation = 0.2;
  }
  const std::string csv = csv_report(run);
  EXPECT_THAT(csv, AllOf(HasSubstr(",batch_per_device,learning_rate,learning_rate_rule,"), HasSubstr(",train_accuracy,"), HasSubstr(",seconds_total,"),
                         HasSubstr(",64,0.1,\"linear from 0.05 at batch 64, cosine to 0\","), HasSubstr(",10.95,")));
  const nlohmann::json json = nlohmann::json::parse(json_text(run));
  const nlohmann::json& row = json.at("rows").at(1);
  EXPECT_EQ(row.at("batch_per_device"), 64);
  EXPECT_DOUBLE_EQ(row.at("learning_rate"), 0.1);
  EXPECT_EQ(row.at("learning_rate_rule"), "linear from 0.05 at batch 64, cosine to 0");
  EXPECT_DOUBLE_EQ(row.at("train_accuracy").at("median"), 0.95);
  EXPECT_GT(row.at("seconds_total").at("median"), 6);
  const std::string page = html_report(overview_of(run), "");
  for (const char* head : {"total time", "training accuracy", "batch per device", "learning rate"})
    EXPECT_THAT(page, HasSubstr(std::string("<th scope=\"col\" class=\"figure\">") + head)) << head;
  EXPECT_THAT(page, HasSubstr("0.1 <small>(linear from 0.05 at batch 64, cosine to 0)</small>"));
}

TEST(RowFigures, AreOnTheTerminalWhereThereIsRoom) {
  const auto width = [](std::size_t columns) {
    const std::string text = closing_summary(two_networks(), {.columns = columns});
    const std::string table = text.substr(text.find("  network"));
    return table.substr(0, table.find('\n'));
  };
  EXPECT_THAT(width(80), Not(HasSubstr("total")));
  EXPECT_THAT(width(120), AllOf(HasSubstr("total"), HasSubstr("rate"), HasSubstr("train acc.")));
  for (const std::size_t columns : {80, 90, 100, 120}) EXPECT_LE(width(columns).size(), columns);
}

}  // namespace
}  // namespace mgcompare
