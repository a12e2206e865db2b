// The command line, as a user and a shell use it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

const std::string kStart = R"("$0" "$@" )";

class CommandLine : public CommandTest {
 protected:
  std::string fine() const {
    return place_.write("fine.yaml", small_config("scaling: {devices: [cpu:1], batch: 64}\nstrategies: [serial, tower]\n"));
  }
};

TEST_F(CommandLine, HelpIsShortAndBeginsWithExamples) {
  for (const char* flag : {"--help", "-h"}) {
    const Ended ended = place_.run({flag});
    EXPECT_EQ(ended.code, 0);
    EXPECT_LE(std::count(ended.out.begin(), ended.out.end(), '\n'), 24);
    std::istringstream lines(ended.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
    EXPECT_LT(ended.out.find("configs/lenet.yaml"), ended.out.find("--dry-run"));
    EXPECT_EQ(ended.err, "");
  }
  EXPECT_EQ(place_.run({"--version"}).out.find("mgcompare "), 0u);
}

TEST_F(CommandLine, EveryCommandExplainsItselfAndItsOptions) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> commands = {
      {{"run"}, "--dry-run"}, {{"report"}, "--objective"}, {{"compare"}, "--fail-on-regression"}, {{"predict"}, "--link"},
      {{"export"}, "--mllog"}, {{"replay"}, "DIR"}, {{"verify"}, "--quick"}, {{"plugins"}, "new"}, {{"plugins", "new"}, "--cuda"},
      {{"plugins", "check"}, "--python"}, {{"devices"}, "--json"}, {{"doctor"}, "--json"}, {{"config"}, "--schema"},
      {{"examples"}, "-q"}, {{"completions"}, "SHELL"}, {{"help"}, "--man"}};
  for (const auto& [command, option] : commands) {
    std::vector<std::string> words = command;
    words.push_back("--help");
    const Ended ended = place_.run(words);
    EXPECT_EQ(ended.code, 0) << command.back();
    EXPECT_NE(ended.out.find("Usage: mgcompare " + command[0]), std::string::npos) << ended.out;
    EXPECT_NE(ended.out.find(option), std::string::npos) << ended.out;
    EXPECT_LE(std::count(ended.out.begin(), ended.out.end(), '\n'), 24) << ended.out;
    std::istringstream lines(ended.out);
    bool is_option = false, is_explained = true;
    // A long name stands on a line of its own; its explanation is then below it.
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 80u) << line;
      if (is_option && line.starts_with("          ")) is_explained = true;
      EXPECT_TRUE(is_explained) << "no explanation above: " << line;
      is_option = line.starts_with("  -");
      is_explained = !is_option || line.find("  ", 3) != std::string::npos;
    }
  }
  EXPECT_EQ(place_.run({"fine.yaml", "--help"}).out.find("Run the comparison"), 0u);
  EXPECT_EQ(place_.run({"help", "plugins", "new"}).out, place_.run({"plugins", "new", "--help"}).out);
  EXPECT_EQ(place_.run({"help"}).out, place_.run({"--help"}).out);
  const Ended unknown = place_.run({"help", "reprot"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.err, "mgcompare: there is no command 'reprot'; did you mean 'report'?\n");
}

TEST_F(CommandLine, AConfigComesFromStandardInput) {
  fine();
  const auto piped = [&](const std::string& text, const std::vector<std::string>& words) {
    place_.write("input", text);
    return place_.run_by_shell(R"(cat input | "$0" "$@")", words);
  };
  const std::string text = text_of(place_.folder() / "fine.yaml");
  const Ended planned = piped(text, {"-", "--dry-run"});
  EXPECT_EQ(planned.code, 0) << planned.err;
  EXPECT_EQ(planned.out, place_.run({"fine.yaml", "--dry-run"}).out);
  EXPECT_EQ(piped(text, {"run", "/dev/stdin", "--dry-run"}).code, 0);
  const Ended wrong = piped("epochz: 3\n" + text, {"-"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.err.find("<stdin>:1:1: error: unknown key 'epochz'"), 0u) << wrong.err;
  EXPECT_NE(wrong.err.find("    1 | epochz: 3"), std::string::npos) << "the line is quoted: " << wrong.err;
  EXPECT_EQ(piped("", {"-"}).code, 2);
  EXPECT_EQ(piped(std::string(2 << 20, 'x'), {"-"}).code, 2);
  // Paths begin at the current folder. A name is "stdin" unless the config gives one.
  fs::create_directory(place_.folder() / "models");
  place_.write("models/mine.yaml", "layers: [flatten, {dense: 10}]\n");
  const Ended done = piped("model: mine\ndata: {set: digits, train_samples: 256, test_samples: 64}\nepochs: 1\n"
                           "scaling: {devices: [cpu:1], batch: 64}\nstrategies: [serial]\n", {"-"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(place_.only_run().info.name, "stdin");
}

TEST_F(CommandLine, TheShippedNetworksAreFoundFromEverywhere) {
  for (const char* network : {"mlp", "lenet"}) {
    const std::string config = place_.write("own.yaml", "model: " + std::string(network) + "\ndata: {set: digits}\nstrategies: [serial]\n");
    const Ended ended = place_.run({config, "--dry-run"});
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
}

TEST_F(CommandLine, WrongUsageIsTwoAndOneSentence) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {}, {"--no-such-flag"}, {"a.yaml", "b.yaml"}, {"run"}, {"fine.yaml", "--seed", "x"}, {"no-such-file.yaml"},
           {"fine.yaml", "--color", "blue"}, {"fine.yaml", "--only", "planet=mars"}, {"fine.yaml", "--resume"},
           {"fine.yaml", "--set", "epochz=3"}, {"plugins", "new", "../escape"}, {"fine.yaml", "-o", ""},
           {"fine.yaml", "--only", ""}, {"fine.yaml", "--data", ""}, {"fine.yaml", "--seed", "-1"},
           {"fine.yaml", "--resume", "--dry-run"}, {"config", "--explain", "nonsense"}, {"report", ""}, {"compare", "a", ""}}) {
    fine();
    const Ended ended = place_.run(words);
    EXPECT_EQ(ended.code, 2) << testing::PrintToString(words) << ended.err;
    EXPECT_NE(ended.err, "");
    EXPECT_EQ(ended.out, "");
  }
  EXPECT_FALSE(place_.has_runs());
}

TEST_F(CommandLine, AWordThatIsNoCommandIsToldSo) {
  EXPECT_EQ(place_.run({"reprot", "runs/one"}).err,
            "mgcompare: no command and no config is named 'reprot'; did you mean 'report'?\n");
  EXPECT_NE(place_.run({}).err.find("give a config"), std::string::npos);
  EXPECT_NE(place_.run({"--nope"}).err.find("there is no option '--nope'"), std::string::npos);
  EXPECT_NE(place_.run({"x.yaml", "--learning-rate=3"}).err.find("`--set optimizer.learning_rate=VALUE` changes this setting"), std::string::npos);
}

TEST_F(CommandLine, MistakesAreToldInWordsOfTheProgram) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"devices", "lenet"}, "'lenet' is not expected; the command is `mgcompare devices`;"},
      {{"completions", "tcsh"}, "'tcsh' is not one of bash, zsh and fish"},
      {{"compare", "a"}, "`mgcompare compare` needs B; write, for instance, `mgcompare compare runs/A runs/B`"},
      {{"verify"}, "`mgcompare verify` needs CONFIG; write, for instance, `mgcompare verify lenet --quick`"},
      {{"fine.yaml", "--set"}, "--set needs a value; write --set KEY=VALUE"},
      {{"fine.yaml", "--resume", "--dry-run"}, " cannot be given together; leave one of them out"},
      {{"predict", "a", "--hosts", "1"}, "'1' is no number of hosts: give one from 2 to 1,000"},
      {{"fine.yaml", "--color", "allways"}, "'allways' is not one of auto, always and never; did you mean 'always'?"}};
  fine();
  for (const auto& [words, told] : wrong) {
    const Ended ended = place_.run(words);
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_NE(ended.err.find(told), std::string::npos) << ended.err;
  }
}

TEST_F(CommandLine, ValuesOfOptionsAreNoCommands) {
  EXPECT_EQ(place_.run({"--color", "never", "plugins"}).code, 0);
  const Ended ended = place_.run({"-o", "report", fine(), "--only", "strategy=serial"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(fs::exists(place_.folder() / "report" / "results.sqlite"));
}

TEST_F(CommandLine, ANetworkThatDoesNotFitHasItsPlace) {
  const Ended ended = place_.run({place_.write("net.yaml", "layers:\n  - dense: 11\nstrategies: [serial]\n")});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("net.yaml:2:5: error: layer 'dense1': the last layer gives 11"), std::string::npos) << ended.err;
}

TEST_F(CommandLine, BadYamlHasItsPlaceAndRunsNothing) {
  const Ended ended = place_.run({place_.write("bad.yaml", small_config("scalling: {batch: 64}\nstrategies: [serial]\n"))});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("bad.yaml:5:1: error:"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("did you mean 'scaling'"), std::string::npos) << ended.err;
  // Names of strategies are checked beside.
  const Ended both = place_.run({place_.write("bad.yaml", small_config("scalling: {batch: 64}\nstrategies: [ddp]\n"))});
  EXPECT_NE(both.err.find("there is no strategy 'ddp'"), std::string::npos) << both.err;
  EXPECT_NE(both.err.find("2 errors"), std::string::npos) << both.err;
  EXPECT_FALSE(place_.has_runs());
}

TEST_F(CommandLine, AnOptionThatNobodyReadsHasItsPlace) {
  const Ended ended = place_.run({place_.write("bad.yaml", small_config("strategies: [{tower: {averege: parameters}}]\n"))});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("bad.yaml:5:"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("averege"), std::string::npos) << ended.err;
}

// Every problem is reported at the line of its option, in one run. An epoch has 8 steps.
TEST_F(CommandLine, OptionsThatDoNotFitHaveTheirPlaces) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"bmuf: {period: 9}", "'period' of 'bmuf': is longer than the epoch of 8 steps: at most 8"},
      {"bmuf: {eta: 1.5}", "must be a number, 0 to 0.9999, or auto, not '1.5'"},
      {"bmuf: {variant: nesterov}", "must be one of cbm | nbm | nbm_cntk, not 'nesterov'"},
      {"local_sgd: {every: 0}", "must be an integer, at least 1, not '0'"},
      {"local_sgd: {every: 9}", "'every' of 'local_sgd': is longer than the epoch of 8 steps: at most 8"},
      {"local_sgd: {momentum: lost}", "must be one of local | averaged | reset, not 'lost'"},
      {"tower: {average: parameters, every: 9}", "'every' of 'tower': is longer than the epoch of 8 steps: at most 8"},
      {"tower: {every: 2}", "'every' of 'tower': goes with average: parameters"},
      {"replicated: {wire: fp8}", "must be one of fp32 | fp16 | bf16, not 'fp8'"},
      {"replicated: {rate: 0.5}", "'rate' of 'replicated': goes with deferred: true"},
      {"replicated: {bucket_bytes: 3}", "must be an integer, at least 4, not '3'"},
      {"sharded_server: {shard: row}", "must be one of tensor | range, not 'row'"},
      {"data_parallel: {shard: range}", "unknown option 'shard'"}};
  std::string strategies = "scaling: {devices: [cpu:2], batch: 64}\nstrategies:\n";
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const std::string& row = wrong[i].first;
    strategies += "  - " + row.substr(0, row.size() - 1) + ", as: row " + std::to_string(i) + "}\n";
  }
  const Ended ended = place_.run({place_.write("bad.yaml", small_config(strategies))});
  EXPECT_EQ(ended.code, 2);
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const std::string place = "bad.yaml:" + std::to_string(7 + i) + ":";
    const std::size_t at = ended.err.find(place);
    ASSERT_NE(at, std::string::npos) << place << "\n" << ended.err;
    const std::string line = ended.err.substr(at, ended.err.find('\n', at) - at);
    EXPECT_NE(line.find(wrong[i].second), std::string::npos) << line;
  }
  EXPECT_FALSE(place_.has_runs());
}

TEST_F(CommandLine, AComparisonPrintsResultsOnStdoutAndTheRestOnStderr) {
  const Ended ended = place_.run({fine()});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const auto run = place_.only_run();
  EXPECT_EQ(run.rows.size(), 3u) << "two and a control";
  EXPECT_EQ(run.info.data_name, "digits");
  for (const char* file : {"results.sqlite", "report.md", "results.csv", "results.json"}) {
    EXPECT_NE(ended.out.find(file), std::string::npos) << ended.out;
    EXPECT_TRUE(fs::exists(run.directory + "/" + file)) << file;
  }
  EXPECT_EQ(ended.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(ended.err.find('\x1b'), std::string::npos);
  EXPECT_EQ(ended.err.find('\r'), std::string::npos);
  EXPECT_NE(ended.err.find("data: digits ("), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("), 1 x 28 x 28 uint8, 10 classes, "), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("[3/3]"), std::string::npos) << ended.err;
  EXPECT_EQ(ended.out.find("[3/3]"), std::string::npos);

  const Ended report = place_.run({"report", "runs/" + fs::path(run.directory).filename().string()});
  EXPECT_EQ(report.code, 0) << report.err;
  EXPECT_EQ(report.out, ended.out) << "the same results, the same words";
}

// Returns the code block below this heading of report.md.
std::string code_below(const std::string& report, const std::string& heading) {
  const std::size_t fence = report.find("```", report.find("## " + heading + "\n")), begin = report.find('\n', fence) + 1;
  return report.substr(begin, report.find("\n```", begin) - begin);
}

// The command is pasted into a shell. Without its --set and --data options no plan has the row's seed and batch.
TEST_F(CommandLine, TheReportsCommandRunsARowAgain) {
  fs::create_directories(place_.folder() / "it's here");
  const Ended ended = place_.run({fine(), "--set", "scaling.batch=32", "--set", "name=it's", "--seed", "17", "--data", "it's here",
                                  "--only", "strategy=tower"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto run = place_.only_run();
  std::ifstream stream(run.directory + "/report.md");
  const std::string command = code_below({std::istreambuf_iterator<char>(stream), {}}, "To run one row again");
  EXPECT_NE(command.find("--data 'it'\\''s here'"), std::string::npos) << command;
  const std::string shell = "cd " + place_.folder().string() + " && PATH=" + std::string(MGCOMPARE_BINARY_DIR) + "/bin:$PATH && " +
                            command + " --dry-run >again 2>&1";
  EXPECT_EQ(std::system(shell.c_str()), 0) << command;
  std::ifstream again(place_.folder() / "again");
  const std::string plan(std::istreambuf_iterator<char>(again), {});
  const Ended asked = place_.run({"fine.yaml", "--set", "scaling.batch=32", "--set", "name=it's", "--seed", "17", "--only",
                                  "strategy=tower", "--dry-run"});
  EXPECT_EQ(plan, asked.out);
}

// The first row of the plan has a name that needs escaping in the shell and in the filter. The name of its strategy is
// also the label of another row.
TEST_F(CommandLine, TheReportsCommandFindsARowByAHostileName) {
  place_.write("names.yaml", small_config("scaling: {devices: [cpu:1], batch: 64}\n"
                                          "strategies: [{tower: {as: \"a, 'b' \\\"c\\\" \\\\, $d\"}}, {serial: {as: tower}}, serial]\n"
                                          "variants: [{name: 'x, y=z', set: {epochs: 1}}]\n"));
  ASSERT_EQ(place_.run({"names.yaml", "-o", "first"}).code, 0);
  const auto run = read_run((place_.folder() / "first").string());
  ASSERT_EQ(run.rows.size(), 8u) << "six and two controls";
  std::ifstream stream(place_.folder() / "first/report.md");
  const std::string command = code_below({std::istreambuf_iterator<char>(stream), {}}, "To run one row again");
  const std::string shell = "cd " + place_.folder().string() + " && PATH=" + std::string(MGCOMPARE_BINARY_DIR) + "/bin:$PATH && " +
                            command + " -o again >again.txt 2>&1";
  EXPECT_EQ(std::system(shell.c_str()), 0) << command;
  const auto again = read_run((place_.folder() / "again").string());
  ASSERT_EQ(again.rows.size(), 3u) << "the row, a reference in place of its baseline, and the control of that: " << command;
  EXPECT_EQ(again.rows[0].trial.strategy.label, run.rows[0].trial.strategy.label);
  EXPECT_EQ(again.rows[0].trial.variant, run.rows[0].trial.variant);
}

TEST_F(CommandLine, QuietLeavesResultsOnly) {
  const Ended ended = place_.run({fine(), "-q", "--color", "always", "--only", "strategy=serial"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
  EXPECT_NE(ended.out, "");
  EXPECT_EQ(place_.only_run().rows.size(), 1u);
}

TEST_F(CommandLine, ADryRunPrintsThePlanAndRunsNothing) {
  const Ended ended = place_.run({fine(), "--dry-run"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("serial"), std::string::npos);
  EXPECT_NE(ended.out.find("tower"), std::string::npos);
  EXPECT_NE(ended.out.find("\ndata: "), std::string::npos);
  const Ended doubtful = place_.run({fine(), "--dry-run", "--set", "seeds=3", "--set", "data.mean=127"});
  EXPECT_NE(doubtful.out.find("warning: `seeds: 3` is one repeat"), std::string::npos) << doubtful.out;
  EXPECT_NE(doubtful.out.find("warning: the inputs of the network have a root mean square of"), std::string::npos) << doubtful.out;
  EXPECT_FALSE(place_.has_runs());
}

TEST_F(CommandLine, ASeedReplacesTheConfigsSeeds) {
  EXPECT_EQ(place_.run({fine(), "--seed", "17", "--only", "strategy=serial"}).code, 0);
  EXPECT_EQ(place_.only_run().rows[0].trial.seed, 17u);
}

TEST_F(CommandLine, MoreDevicesThanThereAreIsARow) {
  const Ended ended = place_.run(
      {place_.write("many.yaml", small_config("scaling: {devices: [cpu:1, cpu:4096], batch: 64}\nstrategies: [replicated]\n"))});
  EXPECT_EQ(ended.code, 3) << ended.err;
  const auto run = place_.only_run();
  ASSERT_EQ(run.rows.size(), 4u) << "two, a reference and its control";
  for (const Row& row : run.rows) {
    EXPECT_EQ(row.result.status, row.trial.devices == 1 ? TrialStatus::done : TrialStatus::unavailable);
    EXPECT_EQ(row.result.cause.find("asked 4096") != std::string::npos, row.trial.devices > 1) << row.result.cause;
  }
}

TEST_F(CommandLine, OutputThatCannotBeWrittenIsSaidBeforeAnythingIsTrained) {
  std::ofstream(place_.folder() / "file") << "x";
  for (const char* directory : {"file/below", "/proc/nowhere"}) {
    const Ended ended = place_.run({fine(), "-o", directory});
    EXPECT_EQ(ended.code, 4) << ended.err;
    EXPECT_NE(ended.err.find(directory), std::string::npos) << ended.err;
    EXPECT_EQ(ended.err.find("[1/"), std::string::npos);
  }
}

TEST_F(CommandLine, WithoutAPlaceForItsMessagesARunIsARun) {
  int number = 0;
  for (const std::string redirection : {"2>/dev/full", "2>&-", ">&-", "<&- >&- 2>&-"}) {
    const std::string folder = "run" + std::to_string(++number);
    // Its results are printed nowhere if stdout is closed, but they are stored.
    const int code = redirection.find(">&-") == 0 || redirection.find(" >&-") != std::string::npos ? 4 : 0;
    EXPECT_EQ(place_.run_by_shell(kStart + redirection, {fine(), "-o", folder}).code, code) << redirection;
    for (const Row& row : read_run((place_.folder() / folder).string()).rows)
      EXPECT_EQ(row.result.status, TrialStatus::done) << redirection << ": " << row.result.cause;
  }
}

TEST_F(CommandLine, AFileThatMayNotGrowIsASentence) {
  const Ended ended = place_.run_by_shell("ulimit -f 16; " + kStart, {fine(), "-o", "run"});
  EXPECT_EQ(ended.code, 4) << ended.err;
}

TEST_F(CommandLine, ResultsThatCannotBePrintedAreNoSuccess) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--version"}, {"config", "--schema"}, {"plugins"}, {fine(), "-o", "run"}}) {
    const Ended ended = place_.run_by_shell(kStart + ">/dev/full", words);
    EXPECT_EQ(ended.code, 4) << words[0];
    EXPECT_NE(ended.err.find("standard output (No space left on device)"), std::string::npos) << ended.err;
  }
  EXPECT_TRUE(fs::exists(place_.folder() / "run" / "report.md"));
  EXPECT_EQ(place_.run_by_shell(kStart + "| true", {"config", "--schema"}).err, "");
}

// Little output is not written before the end, and much output earlier.
TEST_F(CommandLine, EveryCommandThatPrintsNowhereIsNoSuccess) {
  ASSERT_EQ(place_.run({place_.write("free.yaml", small_config("scaling: {devices: [cpu:1, cpu:2], batch: 64}\nmeasure: {record: true}\n"
                                                               "strategies: [serial, replicated, async_sgd]\n")),
                        "-o", "run", "--set", "epochs=60"}).code, 0);
  const auto expect_four = [&](const std::string& redirection, const std::string& reason, const std::vector<std::string>& words) {
    const Ended ended = place_.run_by_shell(kStart + redirection, words);
    EXPECT_EQ(ended.code, 4) << testing::PrintToString(words) << redirection;
    EXPECT_NE(ended.err.find("mgcompare: the results cannot be written to standard output (" + reason + ")"), std::string::npos)
        << testing::PrintToString(words) << redirection << ": " << ended.err;
  };
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--help"}, {"run", "--help"}, {"report", "run"}, {"compare", "run", "run"}, {"compare", "run", "run", "--json"},
           {"predict", "run"}, {"export", "run", "--mllog"}, {"replay", "run"}, {"plugins", "check", "free.yaml"}, {"plugins", "new", "fresh"},
           {"devices"}, {"devices", "--json"}, {"doctor"}, {"config"}, {"config", "--markdown"}, {"free.yaml", "--dry-run"},
           {"verify", "free.yaml", "--quick", "--only", "strategy=serial"}})
    expect_four(">/dev/full", "No space left on device", words);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--version"}, {"report", "run"}, {"compare", "run", "run"}, {"devices"}, {"config", "--schema"}})
    expect_four(">&-", "Bad file descriptor", words);
}

TEST_F(CommandLine, DataThatAreBrokenAreSaidBeforeAnythingIsTrained) {
  fs::create_directories(place_.folder() / "data");
  std::ofstream(place_.folder() / "data" / "train-images-idx3-ubyte") << "broken";
  fine();
  const Ended ended = place_.run({"fine.yaml", "--set", "data.set=mnist", "--data", "data"});
  EXPECT_EQ(ended.code, 4) << ended.err;
  EXPECT_NE(ended.err.find("data"), std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("[1/"), std::string::npos);
}

TEST_F(CommandLine, ExplainsDevicesAndKeys) {
  const Ended devices = place_.run({"devices"});
  EXPECT_EQ(devices.code, 0);
  EXPECT_NE(devices.out.find("cpu:0"), std::string::npos);
  EXPECT_NE(place_.run({"config", "--explain"}).out.find("optimizer.learning_rate"), std::string::npos);
  EXPECT_EQ(place_.run({"config", "--schema"}).out.find('{'), 0u);
}

}  // namespace
}  // namespace mgcompare
