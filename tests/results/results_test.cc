#include "results/results_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "results/sqlite.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

RunInfo info_with(const std::string& hash = "h1") {
  RunInfo info;
  info.program_version = "0.1.0";
  info.name = "small";
  info.config_hash = hash;
  info.config_json = R"({"epochs": 2, "optimizer": {"learning_rate": 0.05}, "@path": "a.yaml"})";
  info.config_yaml = "epochs: 2\n";
  info.environment = {{"cpu", "one"}, {"another", "two"}};
  info.arguments = {"--set", "epochs=2"};
  info.warnings = {"mind the gap"};
  return info;
}

TEST(Results, StayTaintedWhenTheMachineIsRepaired) {
  const Folder folder;
  RunInfo broken = info_with(), sound = info_with();
  broken.taints = {"a pair damages data"};
  broken.links = {{.kind = "cuda", .pairs = {{0, 1, true, false, 1e9, 1e-6}}}};
  sound.links = {{.kind = "cuda", .pairs = {{0, 1, true, true, 1e9, 1e-6}}}};
  ResultsStore results(folder.path("run"));
  results.begin(broken, shuffled_plan());
  EXPECT_EQ(results.read().info.taints, broken.taints);
  EXPECT_FALSE(results.read().info.links.at(0).pairs.at(0).intact);
  results.resume(sound, shuffled_plan());
  EXPECT_EQ(results.read().info.taints, broken.taints);
  EXPECT_TRUE(results.read().info.links.at(0).pairs.at(0).intact);
  results.resume(broken, shuffled_plan());
  EXPECT_EQ(results.read().info.taints.size(), 1u) << "said once";
}

TEST(Results, KeepWhatWasAdded) {
  const Folder folder;
  const Result good = make_result(1000, 8, 0.985);
  {
    ResultsStore results(folder.path("run"));
    EXPECT_TRUE(results.empty());
    results.begin(info_with(), shuffled_plan());
    results.record_data("mnist", "/data", "abc");
    results.start(shuffled_plan()[0], 77);
    results.add(shuffled_plan()[0], good);
    results.start(shuffled_plan()[1], 78);
  }
  const mgcompare::Run run = read_run(folder.path("run"));
  EXPECT_EQ(run.info.schema, "mgcompare.result/2");
  EXPECT_EQ(run.info.config_yaml, "epochs: 2\n");
  EXPECT_EQ(run.info.data_fingerprint, "abc");
  EXPECT_EQ(run.info.environment, info_with().environment);
  EXPECT_EQ(run.info.arguments, info_with().arguments);
  EXPECT_EQ(run.info.warnings, info_with().warnings);
  EXPECT_THAT(run.info.started, testing::MatchesRegex("20..-..-..T..:..:..Z"));
  ASSERT_EQ(run.rows.size(), 3u);
  EXPECT_EQ(run.rows[0].trial.number, 2);
  EXPECT_EQ(run.rows[0].state, RowState::finished);
  EXPECT_EQ(run.rows[0].sequence, 1);
  EXPECT_EQ(nlohmann::json(run.rows[0].result), nlohmann::json(good));
  EXPECT_EQ(nlohmann::json(Trial{run.rows[2].trial, *run.rows[2].config}), nlohmann::json(shuffled_plan()[2]));
  EXPECT_EQ(run.rows[0].config, run.rows[2].config) << "equal configs are one object";
  EXPECT_EQ(run.rows[1].state, RowState::running);
  EXPECT_EQ(run.rows[1].attempt, 1);
  EXPECT_EQ(run.rows[2].state, RowState::pending);
  // Only the one file is left, and it opens in a read-only directory.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path("run")), {}), 1);
}

TEST(Results, CanBeQueriedBySql) {
  const Folder folder;
  ResultsStore results(folder.path());
  results.begin(info_with(), shuffled_plan());
  Result result = make_result(1000, 8, 0.985);
  result.metrics = {{{"staleness", {.mean = 1.5}}}};
  result.windows = {{30, 3840, 0.5}, {31, 3968, 0.25}};
  results.add(shuffled_plan()[1], result);
  results.add(shuffled_plan()[1], result);  // again: the details are stored once
  const Database database(folder.path(kResultsFile), Database::Mode::read);
  EXPECT_EQ(
      database.text("SELECT row || ' ' || accuracy || ' ' || samples_per_second FROM trial WHERE status = 'done'"),
      row_name(shuffled_plan()[1]) + " 0.985 1000.0");
  EXPECT_EQ(database.integer("SELECT count(*) FROM epoch WHERE trial = 1"), 2);
  EXPECT_EQ(database.text("SELECT group_concat(samples_per_second) FROM window WHERE trial = 1"), "7680.0,15872.0");
  EXPECT_EQ(database.text("SELECT seconds_waiting FROM rank WHERE trial = 1"), "1.4");
  EXPECT_EQ(database.text("SELECT mean FROM metric WHERE name = 'staleness'"), "1.5");
  EXPECT_EQ(
      database.integer(
          "SELECT count(*) FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND strict = 0"),
      0);
}

// What files of older versions lack.
constexpr char kWithoutColumns[] =
    "ALTER TABLE rank DROP COLUMN seconds_optimizer; ALTER TABLE rank DROP COLUMN seconds_input;"
    "ALTER TABLE rank DROP COLUMN seconds_strategy; ALTER TABLE rank DROP COLUMN seconds_overlapped;";
constexpr char kWithoutConfigs[] =
    "UPDATE trial SET trial_json = json_set(trial_json, '$.config', json((SELECT json FROM config WHERE sha256 = trial.config)));"
    "ALTER TABLE trial DROP COLUMN config; ALTER TABLE trial DROP COLUMN checksum; DROP TABLE config;"
    "ALTER TABLE session DROP COLUMN token;";
const std::string kOlder[] = {std::string(kWithoutColumns) + "DROP TABLE window; PRAGMA user_version = 1;",
                              std::string(kWithoutColumns) + "PRAGMA user_version = 2;", "PRAGMA user_version = 3;"};

TEST(Results, OfOlderVersionsAreReadAndCarriedOn) {
  for (const std::string& older : kOlder) {
    const Folder folder;
    {
      ResultsStore results(folder.path());
      results.begin(info_with(), shuffled_plan());
      results.add(shuffled_plan()[0], make_result(1000, 8, 0.985));
    }
    Database(folder.path(kResultsFile), Database::Mode::write).script(kWithoutConfigs + older);
    EXPECT_EQ(read_run(folder.path()).rows[0].state, RowState::finished);
    Result result = make_result(1000, 8, 0.985);
    result.windows = {{30, 3840, 0.5}};
    result.ranks[0].strategy = 0.25;
    {
      ResultsStore results(folder.path());
      results.resume(info_with(), shuffled_plan());
      results.add(shuffled_plan()[1], result);
    }
    const Database database(folder.path(kResultsFile), Database::Mode::read);
    EXPECT_EQ(database.integer("PRAGMA user_version"), 5);
    EXPECT_EQ(database.integer("SELECT count(*) FROM trial WHERE checksum IS NULL"), 0);
    EXPECT_EQ(database.integer("SELECT count(*) FROM window"), 1);
    EXPECT_EQ(database.text("SELECT max(seconds_strategy) FROM rank"), "0.25");
  }
}

TEST(Results, AreReadWhileTheyAreWritten) {
  const Folder folder;
  ResultsStore results(folder.path());
  results.begin(info_with(), shuffled_plan());
  results.add(shuffled_plan()[0], make_result(1000, 8, 0.985));
  EXPECT_EQ(read_run(folder.path()).rows[0].state, RowState::finished);
}

TEST(Results, RefuseATrialThatIsNotPlanned) {
  const Folder folder;
  ResultsStore results(folder.path());
  results.begin(info_with(), shuffled_plan());
  EXPECT_THROW(results.add(make_trial(99, "alone", 1, 1), make_result(1, 1, 1)), Error);
}

TEST(Results, SurviveStringsOfAnyKind) {
  const Folder folder;
  ResultsStore results(folder.path());
  results.begin(info_with(), shuffled_plan());
  Result result;
  result.status = TrialStatus::crashed;
  result.cause = "bytes \xff\xfe and '; DROP TABLE trial; --";
  result.log = {std::string("nul\0inside", 10), "\x1b[31mred"};
  results.add(shuffled_plan()[0], result);
  EXPECT_THAT(results.read().rows[0].result.cause, HasSubstr("'; DROP TABLE trial; --"));
  EXPECT_EQ(results.read().rows[0].result.log.at(0), std::string("nul\0inside", 10));
}

TEST(Results, SurviveAKill) {
  const Folder folder;
  for (int round = 0; round < 5; ++round) {
    const std::string directory = folder.path(fmt::format("{}", round));
    const pid_t child = fork();
    if (child == 0) {
      ResultsStore results(directory);
      results.begin(info_with(), shuffled_plan());
      results.add(shuffled_plan()[0], make_result(1000, 8, 0.985));
      results.start(shuffled_plan()[1], getpid());
      kill(getpid(), SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    ResultsStore results(directory);
    results.resume(info_with(), shuffled_plan());
    EXPECT_EQ(results.read().rows[0].state, RowState::finished);
    EXPECT_EQ(results.read().rows[1].state, RowState::pending);
    EXPECT_EQ(results.read().rows[1].attempt, 1);
    EXPECT_EQ(results.unfinished(), (std::vector<int>{1, 3}));
  }
}

TEST(Results, SayWhatIsLeftToRun) {
  const Folder folder;
  ResultsStore results(folder.path());
  results.begin(info_with(), shuffled_plan());
  EXPECT_EQ(results.unfinished(), (std::vector<int>{2, 1, 3}));
  Result result;
  result.status = TrialStatus::crashed;
  results.add(shuffled_plan()[0], result);
  result.status = TrialStatus::interrupted;
  results.add(shuffled_plan()[1], result);
  EXPECT_EQ(results.unfinished(), (std::vector<int>{1, 3}));
  EXPECT_EQ(results.unfinished(true), (std::vector<int>{2, 1, 3}));
}

TEST(Results, ResumeTheSameExperimentOnly) {
  const Folder folder;
  ResultsStore(folder.path()).begin(info_with(), shuffled_plan());
  ResultsStore results(folder.path());
  EXPECT_THAT([&] { results.begin(info_with(), shuffled_plan()); }, ThrowsMessage<InUse>(HasSubstr("--resume")));
  RunInfo other = info_with("h2");
  other.config_json = R"({"epochs": 3, "optimizer": {"learning_rate": 0.1}, "extra": 1, "@path": "b.yaml"})";
  EXPECT_THAT([&] { results.resume(other, shuffled_plan()); },
              ThrowsMessage<InUse>(HasSubstr("epochs, extra, optimizer.learning_rate)")));
  std::vector<Trial> changed = shuffled_plan();
  changed[0].devices = 4;
  EXPECT_THAT([&] { results.resume(info_with(), changed); }, ThrowsMessage<InUse>(HasSubstr("trial 2")));
  std::vector<Trial> more = shuffled_plan();
  more.push_back(make_trial(4, "alone", 1, 2));
  results.resume(info_with(), more);
  EXPECT_EQ(results.unfinished(), (std::vector<int>{2, 1, 3, 4}));
}

TEST(Results, NeverMixBuildsOrLibraries) {
  const Folder folder;
  RunInfo first = info_with();
  first.builds = {{"mgcompare", "aaaa"}, {"platform_cpu.so", "bbbb"}};
  first.environment = {{"oneDNN", "2.5.0"}, {"NCCL", "2.27.3"}};
  ResultsStore(folder.path()).begin(first, shuffled_plan());
  ResultsStore results(folder.path());
  RunInfo other = first;
  other.builds["platform_cpu.so"] = "cccc";
  EXPECT_THAT([&] { results.resume(other, shuffled_plan()); },
              ThrowsMessage<InUse>(HasSubstr("the run was begun with another build of platform_cpu.so: timings of two builds are not mixed")));
  other = first;
  other.environment[1].second = "2.28.0";
  EXPECT_THAT([&] { results.resume(other, shuffled_plan()); }, ThrowsMessage<InUse>(HasSubstr("the run was begun with NCCL 2.27.3, and this is 2.28.0")));
  results.resume(first, shuffled_plan());
  EXPECT_EQ(results.builds(), first.builds);
}

TEST(Results, OfARunHaveItsIdentity) {
  const Folder folder;
  for (const char* name : {"one", "two"}) ResultsStore(folder.path(name)).begin(info_with(), shuffled_plan());
  ResultsStore results(folder.path("one"));
  const std::string identity = results.identity();
  EXPECT_GE(identity.size(), 16u);
  EXPECT_NE(ResultsStore(folder.path("two")).identity(), identity);
  results.resume(info_with(), shuffled_plan());
  EXPECT_EQ(results.identity(), identity);
}

// As `cp -al` and `rsync --link-dest` copy a run: what is written to one folder would appear in both.
TEST(Results, WithASecondNameAreNotWritten) {
  const Folder folder;
  ResultsStore(folder.path("one")).begin(info_with(), shuffled_plan());
  std::filesystem::create_directory(folder.path("two"));
  const std::filesystem::path file = folder.path("one") + "/results.sqlite", link = folder.path("two") + "/results.sqlite";
  std::filesystem::create_hard_link(file, link);
  EXPECT_THAT([&] { ResultsStore results(folder.path("two")); },
              ThrowsMessage<BadResults>(AllOf(HasSubstr("two/results.sqlite: has 2 names (hard links)"), HasSubstr("make it a file of its own"))));
  EXPECT_EQ(read_run(folder.path("two")).rows.size(), 3u);
  std::filesystem::remove(link);
  std::filesystem::copy_file(file, link);
  EXPECT_NO_THROW(ResultsStore(folder.path("two")));
  std::ofstream(folder.path("log")) << "x";
  std::filesystem::create_hard_link(folder.path("log"), file.string() + "-wal");
  EXPECT_THAT([&] { ResultsStore results(folder.path("one")); }, ThrowsMessage<BadResults>(HasSubstr("results.sqlite-wal: has 2 names")));
}

// Through a link that leads to another run by then.
TEST(Results, AreNotWrittenWhereThePathLeadsElsewhere) {
  const Folder folder;
  const std::string path = folder.path("latest");
  for (const char* name : {"one", "two"}) std::filesystem::create_directory(folder.path(name));
  std::filesystem::create_directory_symlink("one", path);
  ResultsStore results(path);
  results.begin(info_with(), shuffled_plan());
  std::filesystem::remove(path);
  EXPECT_THAT([&] { results.read(); }, ThrowsMessage<NotWritable>(HasSubstr("latest: no longer leads to ")));
  std::filesystem::create_directory_symlink("two", path);
  EXPECT_THAT([&] { results.start(shuffled_plan()[0]); },
              ThrowsMessage<NotWritable>(AllOf(HasSubstr("so the run ends; what was recorded is there"), HasSubstr("--resume -o "), HasSubstr("/one"))));
  EXPECT_FALSE(has_run(folder.path("two")));
}

TEST(Results, NeverMixData) {
  const Folder folder;
  ResultsStore results(folder.path());
  results.begin(info_with(), shuffled_plan());
  results.record_data("mnist", "/data", "abc");
  results.record_data("mnist", "elsewhere", "abc");
  EXPECT_THAT([&] { results.record_data("digits", "drawn", "def"); },
              ThrowsMessage<InUse>(AllOf(HasSubstr("mnist"), HasSubstr("digits"), HasSubstr("are not mixed"))));
  EXPECT_THAT([&] { results.record_data("mnist", "elsewhere", "def"); },
              ThrowsMessage<InUse>(HasSubstr("the samples of mnist (elsewhere) are not those that this run began with")));
}

TEST(Results, TwoRunsDoNotShareADirectory) {
  const Folder folder;
  {
    const ResultsStore first(folder.path());
    EXPECT_THAT(
        [&] { ResultsStore second(folder.path()); },
        ThrowsMessage<InUse>(AllOf(HasSubstr(fmt::format("process {} on ", getpid())), HasSubstr("started 20"))));
  }
  EXPECT_NO_THROW(ResultsStore(folder.path()));
}

TEST(Results, SayWhatCannotBeWritten) {
  const Folder folder;
  std::ofstream(folder.path("file")) << "x";
  EXPECT_THAT([&] { ResultsStore(folder.path("file")); }, ThrowsMessage<NotWritable>(HasSubstr(folder.path("file"))));
  EXPECT_THAT([&] { ResultsStore(folder.path("file/below")); }, ThrowsMessage<NotWritable>(HasSubstr("file/below")));
  EXPECT_THAT([&] { ResultsStore("/proc/mgcompare"); }, ThrowsMessage<NotWritable>(HasSubstr("/proc/mgcompare")));
}

// Simulates a full disk: no file of this process may exceed 200 kB.
TEST(Results, SayThatTheDiskIsFullAndKeepWhatTheyHave) {
  const Folder folder;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {200'000, 200'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    ResultsStore results(folder.path());
    results.begin(info_with(), shuffled_plan());
    int added = 0;
    try {
      for (; added < 100; ++added) {
        Result result = make_result(1000, 8, 0.985);
        result.log.assign(20 << (added == 0 ? 0 : 8), "a line of a log that fills the pages of the file");
        results.add(shuffled_plan()[added == 0 ? 0 : 1], result);
      }
    } catch (const NotWritable& error) {
      _exit(added == 1 && std::string(error.what()).find("cannot be written") != std::string::npos ? 42 : 43);
    }
    _exit(44);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
  ResultsStore results(folder.path());
  results.resume(info_with(), shuffled_plan());
  EXPECT_EQ(results.unfinished(), (std::vector<int>{1, 3}));
  results.add(shuffled_plan()[1], make_result(1000, 8, 0.985));
  EXPECT_EQ(results.unfinished(), (std::vector<int>{3}));
}

// A config without a name takes that of its file.
TEST(NewestRun, IsFoundUnderAnotherName) {
  const Folder folder;
  RunInfo first = info_with("h1"), renamed = info_with("h2");
  first.config_json = R"({"name": "a", "model": "a", "epochs": 2, "plugins": ["/a/b.so"]})";
  renamed.config_json = R"({"name": "b", "model": "b", "epochs": 2})";
  ResultsStore(folder.path("run")).begin(first, shuffled_plan());
  EXPECT_EQ(newest_run(folder.path(), renamed.config_json).directory, folder.path("run"));
  EXPECT_NO_THROW(ResultsStore(folder.path("run")).resume(renamed, shuffled_plan()));
}

TEST(NewestRun, IsTheLatestOfAnEqualConfig) {
  const Folder folder;
  ResultsStore(folder.path("b-first")).begin(info_with("h1"), shuffled_plan());
  ResultsStore(folder.path("a-second")).begin(info_with("h1"), shuffled_plan());
  RunInfo other = info_with("h2");
  other.config_json = R"({"epochs": 3})";
  ResultsStore(folder.path("other")).begin(other, shuffled_plan());
  std::filesystem::create_directory(folder.path("broken"));
  std::ofstream(folder.path("broken/results.sqlite")) << "x";
  Database(folder.path("a-second/results.sqlite"), Database::Mode::write)
      .script("UPDATE run SET value = '2999-01-01T00:00:00Z' WHERE key = 'started'");
  const NewestRun newest = newest_run(folder.path(), info_with().config_json);
  EXPECT_EQ(newest.directory, folder.path("a-second"));
  EXPECT_THAT(newest.doubtful, ElementsAre(HasSubstr("a-second"), HasSubstr("broken")));
  EXPECT_EQ(newest_run(folder.path(), R"({"epochs": 4})").directory, "");
  EXPECT_EQ(newest_run(folder.path("absent"), info_with().config_json).directory, "");
}

}  // namespace
}  // namespace mgcompare
