// Results whose values changed in the file, plugins that changed, and a directory that changed during the run.

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/csv.h"
#include "reports/summary.h"
#include "results/results_store.h"
#include "results/row_checksum.h"
#include "results/runs.h"
#include "results/sqlite.h"
#include "results/stored_run.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// The same number is in a column and in the JSON; each of them is changed, and the definition, and the config.
TEST(DamagedRow, IsMarkedInEveryFormAndLeftOutOfTheFigures) {
  for (const char* change : {"UPDATE trial SET result_json = replace(result_json, '0.985', '0.995') WHERE number = 2",
                             "UPDATE trial SET accuracy = 0.995 WHERE number = 2",
                             "UPDATE trial SET trial_json = replace(trial_json, '\"seed\":1', '\"seed\":2') WHERE number = 2",
                             "UPDATE trial SET trial_json = '{' WHERE number = 2",
                             "UPDATE trial SET status = 'failed' WHERE number = 2"}) {
    const Folder folder;
    make_run(folder.path());
    Database(folder.path(kResultsFile), Database::Mode::write).script(change);
    const mgcompare::Run run = read_run(folder.path());
    ASSERT_EQ(run.rows.size(), 3u);
    EXPECT_EQ(run.rows[1].result.status, TrialStatus::damaged) << change;
    EXPECT_THAT(run.rows[1].result.cause, HasSubstr("do not match their checksum"));
    EXPECT_EQ(run.rows[0].result.status, TrialStatus::done) << change;
    const Comparison comparison = compare_rows(run);
    EXPECT_EQ(comparison.done, 2u);
    for (const Cell& cell : comparison.cells) EXPECT_EQ(cell.done.size(), cell.trial().number == 2 ? 0u : 1u);
    EXPECT_THAT(closing_summary(run, {}), AllOf(HasSubstr("damaged"), HasSubstr("1 of 3 trials was not completed")));
    EXPECT_THAT(csv_report(run), HasSubstr(",damaged,"));
    EXPECT_THAT(json_text(run), HasSubstr("\"status\":\"damaged\""));
  }
}

TEST(DamagedRow, IsOneWithoutAChecksum) {
  const Folder folder;
  make_run(folder.path());
  Database(folder.path(kResultsFile), Database::Mode::write).script("UPDATE trial SET checksum = NULL WHERE number = 2");
  const mgcompare::Run run = read_run(folder.path());
  EXPECT_EQ(run.rows[0].result.status, TrialStatus::done);
  EXPECT_EQ(run.rows[1].result.status, TrialStatus::damaged);
}

// The tables that only SQL reads.
TEST(DamagedRow, IsOneWithDamagedDetails) {
  const std::map<std::string, std::set<int>> changes = {{"UPDATE epoch SET accuracy = 0.5 WHERE trial = 2 AND epoch = 1", {2}},
                                                        {"UPDATE window SET trial = 3, window = 9 WHERE trial = 2", {2, 3}},
                                                        {"UPDATE rank SET seconds_waiting = NULL WHERE trial = 1", {1}},
                                                        {"UPDATE metric SET mean = mean + 1e-9", {1, 2, 3}},
                                                        {"DELETE FROM metric WHERE trial = 2", {2}},
                                                        {"INSERT INTO epoch (trial, epoch, loss) VALUES (3, 7, 0.5)", {3}}};
  for (const auto& [change, damaged] : changes) {
    const Folder folder;
    make_run(folder.path());
    Database(folder.path(kResultsFile), Database::Mode::write).script(change);
    for (const Row& row : read_run(folder.path()).rows)
      EXPECT_EQ(row.result.status == TrialStatus::damaged, damaged.contains(row.trial.number)) << change;
  }
}

// In files of version 4 a checksum did not cover details, and rows from an older version had none.
TEST(DamagedRow, StaysDamagedWhenItsFileIsUpgraded) {
  const Folder folder;
  make_run(folder.path());
  {
    const Database database(folder.path(kResultsFile), Database::Mode::write);
    database.script("CREATE TEMP TABLE kept AS SELECT * FROM epoch; DELETE FROM epoch; DELETE FROM window; DELETE FROM rank; DELETE FROM metric");
    for (const Trial& trial : plan()) seal_trial(database, trial.number);
    database.script("INSERT INTO epoch SELECT * FROM kept; UPDATE trial SET checksum = NULL WHERE number = 1;"
                    "UPDATE trial SET accuracy = 0.995 WHERE number = 2; ALTER TABLE session DROP COLUMN token; PRAGMA user_version = 4");
  }
  for (int round = 0; round < 2; ++round) {
    const mgcompare::Run run = read_run(folder.path());
    EXPECT_EQ(run.rows[0].result.status, TrialStatus::done) << "version " << 4 + round;
    EXPECT_EQ(run.rows[1].result.status, TrialStatus::damaged) << "version " << 4 + round;
    EXPECT_EQ(run.rows[2].result.status, TrialStatus::done) << "version " << 4 + round;
    EXPECT_TRUE(run.info.taints.empty());
    ResultsStore upgrade(folder.path());
  }
  Database(folder.path(kResultsFile), Database::Mode::write).script("UPDATE epoch SET loss = 3 WHERE trial = 3");
  EXPECT_EQ(read_run(folder.path()).rows[2].result.status, TrialStatus::damaged) << "now its details are covered";
}

TEST(DamagedRow, RunsAgainWithTheDefinitionOfThePlan) {
  const Folder folder;
  make_run(folder.path());
  Database(folder.path(kResultsFile), Database::Mode::write)
      .script("UPDATE trial SET trial_json = replace(trial_json, '\"seed\":1', '\"seed\":2') WHERE number = 2");
  ResultsStore results(folder.path());
  EXPECT_THAT(results.unfinished(), ElementsAre(2));
  EXPECT_TRUE(results.resume(info(), plan()).empty());
  EXPECT_THAT(results.unfinished(), ElementsAre(2));
  EXPECT_EQ(results.read().rows[1].trial.seed, 1u);
  EXPECT_EQ(results.read().rows[1].state, RowState::pending);
  results.add(plan()[1], make_result(1000, 8, 0.985));
  EXPECT_EQ(results.read().rows[1].result.status, TrialStatus::done);
}

TEST(DamagedRow, IsEveryRowOfADamagedConfig) {
  const Folder folder;
  make_run(folder.path());
  Database(folder.path(kResultsFile), Database::Mode::write).script("UPDATE config SET json = replace(json, '0.05', '0.07')");
  for (const Row& row : read_run(folder.path()).rows) EXPECT_EQ(row.result.status, TrialStatus::damaged);
  ResultsStore results(folder.path());
  results.resume(info(), plan());
  for (const Row& row : results.read().rows) EXPECT_EQ(row.state, RowState::pending) << "its config is whole again";
}

TEST(DamagedRun, IsTainted) {
  for (const char* damage : {"UPDATE environment SET value = 'another machine' WHERE position = 0", "DELETE FROM environment",
                             "DELETE FROM trial WHERE number = 1", "DELETE FROM run WHERE key = 'checksum'", "DELETE FROM run"}) {
    const Folder folder;
    make_run(folder.path());
    Database(folder.path(kResultsFile), Database::Mode::write).script(damage);
    EXPECT_THAT(closing_summary(read_run(folder.path()), {}), HasSubstr("TAINTED: the properties of the run")) << damage;
  }
  const Folder folder;
  make_run(folder.path());
  EXPECT_TRUE(read_run(folder.path()).info.taints.empty());
  Database(folder.path(kResultsFile), Database::Mode::write).script("UPDATE run SET value = '2' || value WHERE key = 'config_yaml'");
  EXPECT_THAT(closing_summary(read_run(folder.path()), {}), HasSubstr("TAINTED: the properties of the run"));
  ResultsStore results(folder.path());
  results.resume(info(), plan());
  EXPECT_EQ(results.read().info.taints.size(), 1u) << "still";
}

TEST(DamagedRun, WithoutItsRecordIsNotContinued) {
  const Folder folder;
  make_run(folder.path());
  Database(folder.path(kResultsFile), Database::Mode::write).script("DELETE FROM run");
  ResultsStore results(folder.path());
  EXPECT_THAT([&] { results.resume(info(), plan()); }, ThrowsMessage<BadResults>(HasSubstr("the record of the run is missing")));
}

TEST(Checksums, HoldInEveryState) {
  const Folder folder;
  ResultsStore results(folder.path());
  const auto no_row_is_damaged = [&] {
    for (const Row& row : results.read().rows) EXPECT_NE(row.result.status, TrialStatus::damaged);
  };
  results.begin(info(), plan());
  no_row_is_damaged();
  results.start(plan()[0], 12);
  no_row_is_damaged();
  results.resume(info(), plan());
  no_row_is_damaged();
  Result nan = make_result(1000, 8, 0.985);
  nan.accuracy = std::numeric_limits<double>::quiet_NaN();
  results.add(plan()[0], nan);
  no_row_is_damaged();
}

TEST(Configs, AreStoredOnce) {
  const Folder folder;
  std::vector<Trial> trials = plan();
  trials.push_back(make_trial(4, "alone", 1, 2));
  trials[3].config.epochs = 7;
  ResultsStore(folder.path()).begin(info(), trials);
  EXPECT_EQ(Database(folder.path(kResultsFile), Database::Mode::read).integer("SELECT count(*) FROM config"), 2);
  const mgcompare::Run run = read_run(folder.path());
  EXPECT_EQ(run.rows[0].config, run.rows[2].config) << "and read once";
  EXPECT_EQ(run.rows[3].config->epochs, 7u);
}

// Files of version 3.
TEST(Configs, OfPublishedRunsAreRead) {
  for (const char* name : {"two-cores-lenet", "two-h200-lenet"}) {
    const mgcompare::Run run = read_run(std::string(MGCOMPARE_SOURCE_DIR "/reports/published/") + name);
    EXPECT_GT(run.rows.size(), 10u);
    for (const Row& row : run.rows) {
      const bool is_refused = row.trial.rehearsal && row.result.status == TrialStatus::unavailable;  // not every strategy can be rehearsed
      EXPECT_TRUE(is_refused || row.result.status == TrialStatus::done) << row.result.cause;
    }
    EXPECT_EQ(run.rows[0].config->model.name, "lenet");
  }
}

// Layers of a stored config are never looked up in files that it names.
TEST(Configs, NameNoFiles) {
  const Folder folder;
  make_run(folder.path());
  std::ofstream(folder.path("secret.yaml")) << "a secret: 1\n";
  const Database database(folder.path(kResultsFile), Database::Mode::write);
  database.script("UPDATE trial SET trial_json = json_set(trial_json, '$.config', json('{\"model\": \"secret.yaml\", \"@path\": \"" +
                  folder.path("x.yaml") + "\"}')), config = NULL");
  for (const Trial& trial : plan()) seal_trial(database, trial.number);
  EXPECT_THAT([&] { read_run(folder.path()); },
              ThrowsMessage<BadResults>(AllOf(HasSubstr("does not list its layers"), testing::Not(HasSubstr("a secret")))));
}

TEST(RebuiltPlugin, RunsItsTrialsAgain) {
  const Folder folder;
  make_run(folder.path());
  std::vector<Trial> rebuilt = plan();
  rebuilt[1].plugin_sha256 = "other";
  rebuilt[1].plugin_file = "elsewhere.so";
  ResultsStore results(folder.path());
  EXPECT_THAT(results.resume(info(), rebuilt),
              ElementsAre("1 finished trial of together runs again, because the plugin has changed since"));
  EXPECT_THAT(results.unfinished(), ElementsAre(2));
  EXPECT_EQ(results.read().rows[1].trial.plugin_file, "elsewhere.so");
  EXPECT_EQ(results.read().rows[1].sequence, 0);
  EXPECT_TRUE(results.resume(info(), rebuilt).empty()) << "said once";
}

TEST(ReplacedFramework, RunsItsTrialsAgain) {
  const Folder folder;
  std::vector<Trial> trials = plan();
  {
    ResultsStore results(folder.path());
    results.begin(info(), trials);
    for (const Trial& trial : trials) {
      Result result = make_result(1000, 8, 0.985);
      if (trial.number > 1) result.versions = {{"torch", "2.10.0"}};
      results.start(trial);
      results.add(trial, result);
    }
  }
  trials[1].versions = {{"torch", "2.11.0"}};
  trials[2].versions = {{"torch", "2.10.0"}};
  ResultsStore results(folder.path());
  EXPECT_THAT(results.resume(info(), trials),
              ElementsAre("1 finished trial of together runs again, because its framework has other versions now"));
  EXPECT_THAT(results.unfinished(), ElementsAre(2));
}

TEST(Directory, ThatIsRemovedOrReplacedEndsTheRun) {
  for (const bool replaced : {false, true}) {
    const Folder folder;
    ResultsStore results(folder.path("run"));
    results.begin(info(), plan());
    fs::remove_all(folder.path("run"));
    if (replaced) make_run(folder.path("run"));
    EXPECT_THAT([&] { results.start(plan()[0]); },
                ThrowsMessage<NotWritable>(AllOf(HasSubstr(folder.path("run")), HasSubstr("is lost unless"))));
    EXPECT_THAT([&] { results.add(plan()[0], make_result(1000, 8, 0.985)); }, ThrowsMessage<NotWritable>(HasSubstr("was removed, moved or replaced")));
    EXPECT_THAT([&] { results.read(); }, ThrowsMessage<NotWritable>(HasSubstr("was removed, moved or replaced")));
  }
}

TEST(Directory, WithALongPathIsSaidToBeTooLong) {
  const Folder folder;
  std::string path = folder.path();
  for (int level = 0; level < 3; ++level) path += "/" + std::string(200, 'x');
  EXPECT_THAT([&] { ResultsStore results(path); },
              ThrowsMessage<NotWritable>(AllOf(HasSubstr("the path is too long"), testing::Not(HasSubstr("space")))));
  EXPECT_THAT([&] { ResultsStore results(folder.path(std::string(300, 'x'))); }, ThrowsMessage<NotWritable>(HasSubstr("File name too long")));
}

// For root no directory is read-only.
TEST(Directory, ThatIsReadOnlyIsSaidToBe) {
  const Folder folder;
  fs::create_directory(folder.path("run"));
  fs::permissions(folder.path("run"), fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(43);
    try {
      ResultsStore results(folder.path("run"));
    } catch (const NotWritable& error) {
      _exit(std::string(error.what()).find("Permission denied") != std::string::npos ? 42 : 44);
    }
    _exit(45);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

// SQLite's own files beside the results.
TEST(Directory, WithLinksIsNotLeft) {
  for (const char* suffix : {"-wal", "-journal", "-shm"}) {
    const Folder folder;
    make_run(folder.path("run"));
    std::ofstream(folder.path("precious")) << "precious";
    fs::create_symlink(folder.path("precious"), folder.path(std::string("run/") + kResultsFile + suffix));
    try {
      ResultsStore results(folder.path("run"));
      results.resume(info(), plan());
      results.add(plan()[0], make_result(1000, 8, 0.985));
    } catch (const Error&) {
      // Refusing is fine too.
    }
    std::ifstream file(folder.path("precious"));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "precious") << suffix;
  }
}

// Reads a run of this directory through a link, which the user may have made.
TEST(Directory, MayBeALinkItself) {
  const Folder folder;
  make_run(folder.path("run"));
  fs::create_directory_symlink(folder.path("run"), folder.path("latest"));
  EXPECT_EQ(read_run(folder.path("latest")).rows.size(), 3u);
  ResultsStore results(folder.path("latest"));
  EXPECT_TRUE(results.resume(info(), plan()).empty());
}

constexpr char kEndless[] = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c";

// Signals, for as long as this object lives.
class Interruption {
 public:
  explicit Interruption(int after = 0) {
    looks_ = 0;
    after_ = after;
    interrupt_reading_if([] { return ++looks_ > after_; });
  }
  ~Interruption() {
    interrupt_reading_if([] { return false; });
  }

 private:
  inline static int looks_ = 0, after_ = 0;
};

TEST(Statements, StopReadingOnASignal) {
  const Folder folder;
  make_run(folder.path());
  const Interruption interruption(20);
  const Database reading(folder.path(kResultsFile), Database::Mode::read), writing(folder.path(kResultsFile), Database::Mode::write);
  EXPECT_THROW(reading.run(kEndless), DatabaseError);
  EXPECT_NO_THROW(writing.run("UPDATE run SET value = value")) << "what was measured is still written";
}

// A run that is resumed may come from somebody else, too.
TEST(Statements, StopOnASignalBeforeTheRunContinues) {
  const Folder folder;
  make_run(folder.path("run"));
  {
    const Interruption interruption;
    EXPECT_THROW(ResultsStore{folder.path("run")}, ReadingStopped);
    EXPECT_THROW(newest_run(folder.path(), info().config_json), ReadingStopped) << "it is not that there is none";
  }
  for (const int looks : {1, 5, 20}) {
    ResultsStore results(folder.path("run"));
    const Interruption interruption(looks);
    EXPECT_THROW(results.resume(info(), plan()), ReadingStopped) << looks;
  }
  ResultsStore results(folder.path("run"));
  results.resume(info(), plan());
  {
    const Interruption interruption;
    EXPECT_THROW(results.unfinished(), ReadingStopped);
  }
  results.start(plan()[0]);
  const Interruption interruption;
  EXPECT_NO_THROW(results.add(plan()[0], make_result(1000, 8, 0.985)));
  EXPECT_EQ(results.read().rows.size(), 3u) << "for the report of what was measured";
}

// A new run has nothing to read: its program says itself what was interrupted.
TEST(Statements, OfANewRunAreNotStopped) {
  const Folder folder;
  const Interruption interruption;
  ResultsStore results(folder.path("new"));
  EXPECT_TRUE(results.empty());
  results.begin(info(), plan());
  EXPECT_EQ(results.unfinished().size(), plan().size());
}

TEST(LongStatements, EndAfterALimitOfWork) {
  const Folder folder;
  make_run(folder.path());
  EXPECT_THROW(Database(folder.path(kResultsFile), Database::Mode::write).run(kEndless), DatabaseError);
}

}  // namespace
}  // namespace mgcompare
