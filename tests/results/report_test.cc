#include "reports/report.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/csv.h"
#include "reports/report_file.h"
#include "reports/html.h"
#include "reports/json.h"
#include "reports/markdown.h"
#include "reports/repetition.h"
#include "reports/tables.h"
#include "results/markdown_lines.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(MarkdownReport, HasTheColumnsOfTheSourceExperiments) {
  const std::string text = markdown_report(compare_rows(three_by_three()));
  EXPECT_THAT(
      text,
      HasSubstr(
          "| infrastructure | model | strategy | batch size | devices | accuracy | epochs | training time (s/epoch) |\n"));
  EXPECT_THAT(text, HasSubstr("| strategy | devices | global batch | batch per device | learning rate | training accuracy | total time |\n"));
  EXPECT_THAT(text, HasSubstr("| 1 | lenet | together | 128 | cpu:2 | 0.9840 \\[0.9840 .. 0.9840\\] | 2 | "
                              "3.09 s \\[3.06 s .. 3.12 s\\] (1,616 samples/s) |\n"));
  EXPECT_THAT(text, HasSubstr("* **Infrastructure 1**: Imaginary 9000, Linux 6.1\n"));
}

TEST(MarkdownReport, NamesGpus) {
  RunMaker maker;
  maker.add("together", 4, 1, make_result(1600, 5, 0.98)).trial.device_kind = DeviceKind::cuda;
  EXPECT_THAT(markdown_report(compare_rows(maker.run)), HasSubstr("| 1 | lenet | together | 128 | cuda:4 | 0.9800 | 2 |"));
}

TEST(MarkdownReport, TellsShortCopiesInNanoseconds) {
  mgcompare::Run run = three_by_three();
  run.info.links = {{.kind = "cpu",
                     .devices = {{0, true, 9e9, 8e9, 1e-9, 0}},
                     .pairs = {{0, 1, true, true, 5e9, 2.01e-9}, {1, 0, false, true, 7e9, 4e-9}},
                     .all_reduces = {}}};
  EXPECT_THAT(markdown_report(compare_rows(run)), HasSubstr("a small copy 2.01 .. 4 ns |"));
}

TEST(MarkdownReport, LabelsSeparateModels) {
  const std::string text = markdown_report(compare_rows(three_by_three()));
  EXPECT_THAT(text,
              HasSubstr("| apart | 128 | cpu:2 | 0.9700 \\[0.9700 .. 0.9700\\], mean of 2 models |"));
  EXPECT_THAT(text, HasSubstr("| apart | cpu:2 | 128 | - | - | 0 of 3 | separate models |"));
}

TEST(MarkdownReport, HasEverySection) {
  mgcompare::Run run = three_by_three();
  run.info.warnings = {"devices: auto found two"};
  run.rows[1].result.notes = {"oversubscribed"};
  run.rows[1].result.metrics = {{{"staleness", {.mean = 1.5}}}};
  for (mgcompare::Row& row : run.rows)
    row.result.placement = {{"cpu:0", {{"weights and gradients", "cpu:0", 4096}}, {{"reduce", "the host's memory", 1, 2048}}}};
  run.info.links = {{.kind = "cpu", .devices = {{0, true, 9e9, 8e9, 1e-9, 0}, {1, true, 11e9, 10e9, 1e-9, 0}},
                     .pairs = {{0, 1, true, true, 5e9, 2e-6}, {1, 0, false, true, 7e9, 4e-6}},
                     .all_reduces = {{2, 4096, 31e-6}}}};
  run.info.taints = {"a pair damages data"};
  run.rows[2].result.status = TrialStatus::crashed;
  run.rows[2].result.cause = "SIGSEGV in step 17";
  run.rows[2].result.log = {"last words"};
  const std::string text = markdown_report(compare_rows(run));
  for (const char* part : {"# small\n",
                           "\n## Results\n",
                           "\n## Speed-up and efficiency\n",
                           "| together | cpu:2 | 128 | 1,616 \\[1,600 .. 1,632\\] | - | 1.60 \\[1.60 .. 1.60\\] | 80 % "
                           "\\[80 % .. 80 %\\] | faster than alone on 1 CPU core, batch 128 |",
                           "\n## Time to 97 %\n",
                           "\n## Where the time goes\n",
                           "| 60 % | 0 % | 25 % | 14 % | 0 % | 0 % | 1.0 % | yes |",
                           "\n## What if\n",
                           "| together | cpu:2 | 128 | 1.60x | 2.00x | 2.00x | 2.00x | 2.00x |",
                           "\n## Bytes\n",
                           "| 1.72 MB | 1.72 MB | 1.000 |",
                           "\n## Accuracy by epoch\n",
                           "| together | cpu:2 | 128 | 0.8856 | 0.9840 |",
                           "| 0 | staleness | 1.5 |",
                           "\n## Trials that were not completed\n",
                           "| apart on 2 CPU cores, batch 128 | crashed | SIGSEGV in step 17 | 1 |",
                           "```\nlast words\n```",
                           "\n## Notes\n",
                           "\n- TAINTED: a pair damages data.\n",
                           "\n## Placement\n",
                           "| alone on 1 CPU core, batch 128 | rank 0 on cpu:0: weights and gradients (4.1 kB) on the device; "
                           "reduce 2.05 kB a step over the host's memory (1 call) |\n",
                           "\n## Links\n",
                           "| host to cpu devices | 9 .. 11 GB/s |\n",
                           "| cpu devices to host | 8 .. 10 GB/s |\n",
                           "| 2 ordered pairs of cpu devices | 1 peer-to-peer; 5 .. 7 GB/s, a small copy 2 .. 4 us |\n",
                           "| tainted | a pair damages data |\n",
                           "oversubscribed",
                           "devices: auto found two",
                           "\n## Environment\n",
                           "| cpu | Imaginary 9000 |",
                           "\n## Order of execution\n",
                           "| 9 | 9 | apart cpu:2 batch 128 | 3 | done |",
                           "\n## Config\n",
                           "```yaml\nname: small\n```"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(MarkdownReport, FoldsEqualDevices) {
  mgcompare::Run run = three_by_three();
  run.info.environment = {{"cpu", "Imaginary 9000"}, {"cpu:0", "core"}, {"cpu:1", "core"}, {"cpu:2", "core"},
                          {"cuda devices", "2"},     {"cuda:0", "H200"}, {"cuda:1", "A100"}, {"kernel", "A100"}};
  const std::string text = markdown_report(compare_rows(run));
  EXPECT_THAT(text, HasSubstr("| cpu:0 .. cpu:2 | core |\n| cuda devices | 2 |\n| cuda:0 | H200 |\n| cuda:1 | A100 |\n| kernel |"));
  EXPECT_THAT(text, HasSubstr("**Infrastructure 1**: 2 x H200, Imaginary 9000"));
}

TEST(MarkdownReport, FollowsTheObjective) {
  mgcompare::Run run = three_by_three();
  EXPECT_THAT(markdown_report(compare_rows(run, Objective::device_seconds)), HasSubstr("is cheapest"));
}

TEST(TimeTable, HasNoShareOfWhatOlderProgramsDidNotTellOfGpus) {
  RunMaker maker;
  Row& row = maker.add("together", 2, 1, make_result(1600, 5, 0.98));
  row.trial.device_kind = DeviceKind::cuda;
  const auto shown = [&] {
    const auto line = time_table(compare_rows(maker.run)).lines.at(0);
    return std::vector<std::string>(line.begin() + 3, line.begin() + 10);
  };
  EXPECT_THAT(shown(), testing::ElementsAre("60 %", "0 %", "25 %", "14 %", "0 %", "0 %", "1.0 %"));
  row.result.compute_is_remainder = true;
  EXPECT_THAT(shown(), testing::ElementsAre("60 %", "-", "25 %", "14 %", "-", "-", "1.0 %"));
  const nlohmann::json shares = nlohmann::json::parse(json_text(maker.run))["rows"][0]["shares"];
  EXPECT_TRUE(shares["optimizer"].is_null() && shares["input"].is_null() && shares["strategy"].is_null());
  EXPECT_NEAR(shares["exchange"].get<double>(), 0.25, 1e-9);
}

// The table has a line for each rank of the first repeat. Rows with one rank have none.
TEST(RankTable, HasEachRankOfTheFirstRepeat) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 8, 0.98));
  Result result = make_result(1000, 8, 0.98);
  result.ranks = {{.compute = 6, .exchange = 3, .waiting = 1}, {.compute = 6.5, .optimizer = 0.5, .exchange = 3}};
  result.placement = {{"cpu:0", {}, {}}, {"cpu:1", {}, {}}};
  maker.add("together", 2, 1, result);
  maker.add("together", 2, 2, make_result(1000, 8, 0.98));
  const Table table = rank_table(compare_rows(maker.run));
  ASSERT_EQ(table.lines.size(), 2u);
  EXPECT_THAT(table.lines[1], testing::ElementsAre("together", "cpu:2", "128", "1", "cpu:1", "6.50 s", "0.500 s", "3.00 s", "0 s",
                                                   "0 s", "0 s", "0 s", "0 s"));
  EXPECT_THAT(markdown_report(compare_rows(maker.run)), HasSubstr("\n## By rank\n"));
  result.ranks.assign(17, result.ranks[0]);
  maker.add("wide", 17, 1, result);
  EXPECT_THAT(markdown_report(compare_rows(maker.run)), Not(HasSubstr("## By rank")));
  EXPECT_THAT(html_report(compare_rows(maker.run), ""), HasSubstr("<details>\n    <summary>By rank</summary>"));
}

TEST(Repetition, HasWhatTheCommandLineGave) {
  mgcompare::Run run = three_by_three();
  run.rows[0].trial.bracket = 1;
  run.rows[1].trial.scaling = ScalingMode::weak;
  run.info.arguments = {"--set", "name=it's; x", "--data", "/my data", "--oops"};
  const Repetition again = repetition_of(run);
  EXPECT_EQ(again.command,
            "mgcompare run 'small.yaml' --set 'name=it'\\''s; x' --data '/my data' '--oops' "
            "--only 'strategy=together,devices=cpu:2,batch=64,variant=base,seed=1'");
  EXPECT_THAT(again.intro, Not(HasSubstr("config below")));
  EXPECT_THAT(markdown_report(compare_rows(run)), HasSubstr("\n## To run one row again\n"));
  EXPECT_EQ(nlohmann::json::parse(json_text(run))["arguments"].size(), 5u);
  EXPECT_EQ(repetition_of({}).command, "");
}

TEST(Repetition, TellsRowsOfOneStrategyApart) {
  mgcompare::Run run = three_by_three();
  run.info.arguments = std::vector<std::string>{};
  for (Row& row : run.rows)
    if (row.trial.strategy.label == "together") row.trial.strategy.name = "alone";
  run.rows[0].trial.variant = "x, \\y";
  EXPECT_THAT(repetition_of(run).command, HasSubstr("--only 'as=alone,devices=cpu:1,batch=128,variant=x\\, \\\\y,seed=1'"));
}

TEST(Repetition, OfAnOlderFileTakesItsConfig) {
  const Repetition again = repetition_of(three_by_three());
  EXPECT_THAT(again.command, testing::StartsWith("mgcompare run config.yaml --only 'strategy=alone,"));
  EXPECT_THAT(again.intro, HasSubstr("save the config below"));
  EXPECT_TRUE(nlohmann::json::parse(json_text(three_by_three()))["arguments"].is_null());
}

TEST(MarkdownReport, HasItsSectionsInThePagesOrder) {
  const std::string text = markdown_report(compare_rows(three_by_three()));
  std::size_t last = 0;
  for (const char* title : {"Speed-up and efficiency", "Time to 97 %", "Accuracy by epoch", "Where the time goes", "Bytes", "Why",
                            "Prediction", "Results", "Trials that were not completed", "Environment", "Order of execution",
                            "To run one row again", "Config"}) {
    const std::size_t at = text.find("\n## " + std::string(title) + "\n");
    ASSERT_NE(at, std::string::npos) << title;
    EXPECT_GT(at, last) << title;
    last = at;
  }
}

TEST(MarkdownReport, SaysWhatIsMissing) {
  RunMaker maker;
  maker.add("together", 1, 1, make_result(1000, 5, 0.98));
  std::string text = markdown_report(compare_rows(maker.run));
  EXPECT_THAT(text, AllOf(HasSubstr("There is no curve to draw"), HasSubstr("\n## Prediction\n\nThere is nothing to predict"),
                          Not(HasSubstr("Partial"))));
  maker.run = three_by_three();
  maker.run.rows[8].state = RowState::pending;
  text = markdown_report(compare_rows(maker.run));
  EXPECT_THAT(text, testing::StartsWith("# small\n\nPartial: 1 of 9 trials have not finished."));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("no curve to draw")), Not(HasSubstr("nothing to predict"))));
}

TEST(MarkdownReport, WithoutACompletedTrialHasNoEmptySections) {
  mgcompare::Run run = three_by_three();
  for (mgcompare::Row& row : run.rows) {
    row.result.status = TrialStatus::crashed;
    row.result.cause = "SIGSEGV in step 17";
  }
  const auto headings = [](const std::string& text) {
    std::vector<std::string> found;
    for (std::size_t at = 0; (at = text.find("\n## ", at)) != std::string::npos; ++at) found.push_back(text.substr(at + 4, text.find('\n', at + 1) - at - 4));
    return found;
  };
  std::string text = markdown_report(compare_rows(run));
  EXPECT_THAT(text, AllOf(HasSubstr("because no trial was completed"), HasSubstr("| SIGSEGV in step 17 | 3 |"), Not(HasSubstr("None."))));
  EXPECT_THAT(headings(text), testing::ElementsAre("Trials that were not completed", "Environment", "Order of execution", "To run one row again", "Config"));
  for (mgcompare::Row& row : run.rows) row.state = RowState::pending;
  text = markdown_report(compare_rows(run));
  EXPECT_THAT(text, AllOf(HasSubstr("because no trial was completed"), Not(HasSubstr("None."))));
  EXPECT_THAT(headings(text), Not(testing::Contains("Trials that were not completed")));
}

// Text from plugins, logs and the environment is never interpreted as markup.
TEST(MarkdownReport, IsInert) {
  for (const char* payload : {"</td><script>alert(1)</script>", "a | b | c", "x\n\n# heading", "[a](javascript:b)",
                              "![x](http://y)", "\x1b[31mred", "`code`", "```\n# out"}) {
    RunMaker maker;
    maker.add(payload, 2, 1, make_result(1600, 5, 0.98)).result.notes = {payload};
    maker.run.rows.back().result.placement = {{payload, {{payload, payload, 1}}, {{payload, payload, 1, 1}}}};
    maker.run.info.links = {{.kind = payload, .devices = {{}}, .pairs = {{}}, .all_reduces = {{2, 4096, 1e-6}}}};
    maker.run.info.taints = {payload};
    Result& failed = maker.failed(payload, 4, 1, "crashed", payload).result;
    failed.log = {payload};
    maker.run.info.environment = {{payload, payload}};
    maker.run.info.name = payload;
    maker.run.info.data_origin = payload;
    maker.run.info.warnings = {payload};
    maker.run.info.arguments = {"--set", payload};
    const std::string text = markdown_report(compare_rows(maker.run));
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    for (const std::string& line : markdown_lines(text))
      EXPECT_THAT(line, AllOf(Not(HasSubstr("<")), Not(testing::StartsWith("# heading")), Not(testing::ContainsRegex("(^|[^\\\\])!\\["))));
  }
}

TEST(Reports, SayWhatIsOddAboutTheData) {
  mgcompare::Run run = three_by_three();
  const std::string remark = "cifar10 is not available, so the samples are synthetic";
  run.info.data_remark = remark;
  EXPECT_THAT(csv_report(run), HasSubstr(",\"" + remark + "\"\r\n"));
  const Comparison comparison = compare_rows(run);
  EXPECT_THAT(markdown_report(comparison), HasSubstr(remark));
  EXPECT_THAT(html_report(comparison, ""), HasSubstr(remark));
  std::string json;
  json_report(comparison, [&](std::string_view text) { json += text; });
  EXPECT_THAT(json, HasSubstr(remark));
}

TEST(Report, FiguresOfATrialThatHasNoneAreNotZeros) {
  RunMaker maker;
  maker.add("alone", 1, 1, make_result(1000, 8, 0.985));
  Result failed;
  failed.status = TrialStatus::out_of_memory;
  failed.cause = "asked 9";
  maker.add("together", 2, 1, failed);
  const std::vector<std::string> lines = lines_of(csv_report(maker.run));
  ASSERT_GE(lines.size(), 3u);
  EXPECT_THAT(lines[2], HasSubstr("out of memory,asked 9,0" + std::string(40, ',') + "mnist,"));
  const nlohmann::json trials = nlohmann::json::parse(json_text(maker.run))["trials"];
  EXPECT_TRUE(trials[1]["result"]["accuracy"].is_null());
  EXPECT_TRUE(trials[1]["result"]["steps"].is_null());
  EXPECT_EQ(trials[1]["result"]["status"], "out of memory");
  EXPECT_GT(trials[0]["result"]["accuracy"], 0.9);
}

TEST(Report, ATargetThatWasNotReachedHasNoTime) {
  RunMaker maker;
  maker.add("alone", 1, 1, make_result(1000, 0, 0.5));
  maker.add("alone", 1, 2, make_result(1000, 8, 0.985));
  const nlohmann::json trials = nlohmann::json::parse(json_text(maker.run))["trials"];
  EXPECT_TRUE(trials[0]["result"]["seconds_to_target"].is_null());
  EXPECT_EQ(trials[1]["result"]["seconds_to_target"], 8);
}

TEST(CsvReport, HasARowATrial) {
  mgcompare::Run run = three_by_three();
  run.rows[8].state = RowState::pending;
  const std::vector<std::string> lines = lines_of(csv_report(run));
  ASSERT_EQ(lines.size(), 10u);
  EXPECT_THAT(lines[0], testing::StartsWith("trial,position,sequence,state,attempt,row,strategy,"));
  EXPECT_THAT(
      lines[2],
      testing::StartsWith(
          "2,1,2,finished,1,together cpu:2 batch 128,together,together,,mgcompare,lenet,cpu,2,,1,1,strong,128,64,0.05,constant,fp32,1,0,0,0,0,,,,done,,2,0.984,"));
  EXPECT_THAT(lines[9], testing::EndsWith(",128,64,0.05,constant,fp32,3,0,0,0,0,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,mnist,\r"));
  for (const std::string& line : lines)
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), std::count(lines[0].begin(), lines[0].end(), ','));
}

TEST(CsvReport, NeutralisesFormulasAndNan) {
  RunMaker maker;
  Row& row = maker.failed("=HYPERLINK(\"x\")", 2, 1, "diverged", "-1+1|cmd");
  row.result.accuracy = std::nan("");
  const std::string line = lines_of(csv_report(maker.run)).at(1);
  EXPECT_THAT(line, HasSubstr(",\"'=HYPERLINK(\"\"x\"\")\","));
  EXPECT_THAT(line, HasSubstr(",diverged,'-1+1|cmd,0,,"));
}

TEST(JsonReport, HoldsTheRun) {
  mgcompare::Run run = three_by_three();
  run.rows[0].result.accuracy = std::nan("");
  run.rows[1].result.cause = "\xff\x1b[0m";
  const nlohmann::json json = nlohmann::json::parse(json_text(run));
  EXPECT_EQ(json["schema"], "mgcompare.result/2");
  EXPECT_EQ(json["config"]["name"], "small");
  EXPECT_EQ(json["data"]["name"], "mnist");
  EXPECT_EQ(json["trials"].size(), 9u);
  EXPECT_TRUE(json["trials"][0]["result"]["accuracy"].is_null());
  EXPECT_EQ(json["trials"][1]["result"]["epochs"].size(), 2u);
  EXPECT_EQ(json["rows"].size(), 3u);
  EXPECT_EQ(json["rows"][1]["row"], "together cpu:2 batch 128");
  EXPECT_NEAR(json["rows"][1]["efficiency"]["median"].get<double>(), 0.8, 1e-9);
  EXPECT_EQ(json["rows"][1]["compared_with"], "alone cpu:1 batch 128");
  EXPECT_EQ(json["rows"][2]["separate_models"], 2);
}

TEST(WriteReports, ReplacesFilesInOneStep) {
  const Folder folder;
  const std::vector<std::string> paths = write_reports(three_by_three(), folder.path());
  EXPECT_THAT(paths,
              testing::IsSupersetOf({folder.path("report.html"), folder.path("report.md"), folder.path("results.csv"),
                                    folder.path("results.json")}));
  EXPECT_EQ(content(folder.path("results.csv")), csv_report(three_by_three()));
  EXPECT_EQ(content(folder.path("results.json")), json_text(three_by_three()));
  for (const std::string& path : paths) EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), std::ptrdiff_t(paths.size()));
  // A symbolic link is replaced; its target is left unchanged.
  std::ofstream(folder.path("precious")) << "precious";
  std::filesystem::remove(paths[0]);
  std::filesystem::create_symlink(folder.path("precious"), paths[0]);
  write_reports(three_by_three(), folder.path());
  EXPECT_EQ(content(folder.path("precious")), "precious");
  EXPECT_FALSE(std::filesystem::is_symlink(paths[0]));
}

TEST(WriteReports, LeavesNoCurveOfOtherResults) {
  const Folder folder;
  RunMaker maker;
  maker.add("together", 1, 1, make_result(1000, 5, 0.98));
  write_report_file(folder.path("scaling.svg"), "<svg/>");
  write_reports(maker.run, folder.path());
  EXPECT_FALSE(std::filesystem::exists(folder.path("scaling.svg")));
}

TEST(WriteReports, LeavesTheOldFileWhereItCannotWrite) {
  const Folder folder;
  write_report_file(folder.path("a"), "old");
  // The temporary file cannot be created, because a directory has its name.
  std::filesystem::create_directory(folder.path("a.tmp"));
  EXPECT_THAT([&] { write_report_file(folder.path("a"), "new"); },
              testing::ThrowsMessage<NotWritable>(HasSubstr(folder.path("a: cannot be written"))));
  EXPECT_EQ(content(folder.path("a")), "old");
  EXPECT_THROW(write_report_file("/dev/full/x", "y"), NotWritable);
  EXPECT_THROW(write_report_file(folder.path("absent/x"), "y"), NotWritable);
}

}  // namespace
}  // namespace mgcompare
