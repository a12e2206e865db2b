// The directory of a run: what it may make the program do, and what happens if it changes.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "results/row_checksum.h"
#include "results/sqlite.h"
#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

class Storage : public CommandTest {
 protected:
  std::string config(const std::string& name = "fine.yaml") const {
    return place_.write(name, "layers: [flatten, {dense: 16}, tanh, {dense: 10}]\n"
                              "data: {set: digits, train_samples: 256, test_samples: 64}\nepochs: 1\n"
                              "scaling: {devices: [cpu:1], batch: 64}\nstrategies: [serial]\n");
  }
  fs::path at(const std::string& name) const { return place_.folder() / name; }
  mgcompare::Run run_in(const std::string& name) const { return read_run(at(name).string()); }
  void change(const std::string& folder, const std::string& sql) const {
    Database(at(folder + "/results.sqlite").string(), Database::Mode::write).script(sql);
  }

};

// Every file that the program writes is a link to a file outside, and every subdirectory a link to a directory outside.
class Links : public Storage {
 protected:
  void SetUp() override {
    Storage::SetUp();
    if (IsSkipped()) return;
    fs::create_directory(at("outside"));
    fs::create_directory(at("run"));
  }
  void TearDown() override {
    if (IsSkipped()) return;
    for (const fs::directory_entry& entry : fs::directory_iterator(at("outside"))) {
      EXPECT_TRUE(precious_.contains(entry.path().filename())) << entry.path() << " was written outside";
      EXPECT_EQ(fs::is_directory(entry.path()) ? "precious" : text_of(entry.path()), "precious") << entry.path();
      EXPECT_TRUE(!fs::is_directory(entry.path()) || fs::is_empty(entry.path())) << entry.path();
    }
  }
  void plant(const std::string& name) {
    precious_.insert(name);
    std::ofstream(at("outside/" + name)) << "precious";
    fs::create_symlink(at("outside/" + name), at("run/" + name));
  }
  void plant_folder(const std::string& name) {
    precious_.insert(name);
    fs::create_directory(at("outside/" + name));
    fs::create_directory_symlink(at("outside/" + name), at("run/" + name));
  }
  Ended run(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {config(), "-o", "run"};
    words.insert(words.end(), more.begin(), more.end());
    return place_.run(words);
  }

 private:
  std::set<std::string> precious_;
};

TEST_F(Links, AreReplacedByReports) {
  for (const char* report : {"report.html", "report.md", "scaling.svg", "results.csv", "results.json", "comparison.md"}) {
    plant(report);
    plant(std::string(report) + ".tmp");
  }
  EXPECT_EQ(run().code, 0);
  EXPECT_EQ(place_.run({"compare", "run", "run"}).code, 0);
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(at("run/comparison.md"))));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(at("run/report.html"))));
}

TEST_F(Links, InPlaceOfTheLogAreRefusedBeforeAnythingIsTrained) {
  plant("worker.log");
  const Ended ended = run();
  EXPECT_EQ(ended.code, 4);
  EXPECT_NE(ended.err.find("run/worker.log: cannot be written: it is a symbolic link"), std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("[1/"), std::string::npos);
}

TEST_F(Links, InPlaceOfDirectoriesAreRefused) {
  plant_folder("mllog");
  plant_folder("traces");
  const Ended traced = run({"--trace"});
  EXPECT_EQ(traced.code, 4);
  EXPECT_NE(traced.err.find("run/traces: cannot be written: it is a symbolic link"), std::string::npos) << traced.err;
  ASSERT_EQ(run({"--resume"}).code, 0);
  const Ended exported = place_.run({"export", "run", "--mllog"});
  EXPECT_EQ(exported.code, 4);
  EXPECT_NE(exported.err.find("run/mllog: cannot be written: it is a symbolic link"), std::string::npos) << exported.err;
}

TEST_F(Links, InPlaceOfRecordsAndCheckpointsAreRefused) {
  plant_folder("records");
  const Ended recorded = run({"--set", "measure.record=true"});
  EXPECT_EQ(recorded.code, 4);
  EXPECT_NE(recorded.err.find("run/records: cannot be written: it is a symbolic link"), std::string::npos) << recorded.err;
  fs::remove_all(at("run"));
  fs::create_directory(at("run"));
  plant_folder("checkpoints");
  EXPECT_EQ(run({"--set", "checkpoint_epochs=1", "--set", "epochs=2"}).code, 4);
}

TEST_F(Storage, PipesInPlaceOfSqlitesFilesAreRefused) {
  ASSERT_EQ(place_.run({config(), "-o", "results"}).code, 0);
  for (const char* suffix : {"-journal", "-wal", "-shm"}) {
    const std::string file = at(std::string("results/results.sqlite") + suffix);
    fs::remove(file);
    ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"report", "results"}, {config(), "--resume", "-o", "results"}}) {
      const Ended ended = place_.run(words);
      EXPECT_EQ(ended.code, 4) << ended.err;
      EXPECT_NE(ended.err.find(std::string("results.sqlite") + suffix), std::string::npos) << ended.err;
    }
    fs::remove(file);
  }
}

TEST_F(Storage, ALogWithASecondNameIsRefused) {
  fs::create_directory(at("results"));
  place_.write("other", "precious");
  fs::create_hard_link(at("other"), at("results/worker.log"));
  const Ended ended = place_.run({config(), "-o", "results"});
  EXPECT_EQ(ended.code, 4) << ended.err;
  EXPECT_NE(ended.err.find("worker.log: cannot be written: it has a second name"), std::string::npos) << ended.err;
  EXPECT_EQ(text_of(at("other")), "precious");
}

TEST_F(Links, InPlaceOfSqlitesFilesAreNotFollowed) {
  ASSERT_EQ(run().code, 0);
  for (const char* file : {"results.sqlite-wal", "results.sqlite-shm", "results.sqlite-journal"}) plant(file);
  const Ended ended = run({"--resume"});
  EXPECT_TRUE(ended.code == 0 || ended.code == 4) << ended.code << ended.err;
}

// Two values of a key in a recursive view: reading it never ends.
TEST_F(Storage, AViewThatNeverEndsIsRefusedByEveryCommand) {
  ASSERT_EQ(place_.run({config(), "-o", "run"}).code, 0);
  change("run", "DROP TABLE run; CREATE VIEW run AS WITH RECURSIVE c (key, value) AS (SELECT 'name', 'x' UNION ALL SELECT key, value "
                "FROM c) SELECT key, value FROM c");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"report", "run"}, {"compare", "run", "run"}, {"predict", "run"}, {"export", "run", "--mllog"}, {"replay", "run"},
           {"fine.yaml", "--resume", "-o", "run"}}) {
    const auto begin = std::chrono::steady_clock::now();
    const Ended ended = place_.run(words);
    EXPECT_EQ(ended.code, 4) << words[0];
    EXPECT_NE(ended.err.find("contains a view 'run', which results files never do"), std::string::npos) << ended.err;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10)) << words[0];
  }
}

// Removes the directory as soon as the second trial has begun.
TEST_F(Storage, ARemovedDirectoryEndsTheRunWithTheTruth) {
  Program program = place_.start({config(), "-o", "run", "--set", "seeds=[1,2,3,4,5,6,7,8,9]", "--set", "epochs=100"});
  ASSERT_TRUE(program.says("[1/9]", 60));
  fs::remove_all(at("run"));
  const Ended ended = program.wait();
  EXPECT_EQ(ended.code, 4) << ended.err;
  EXPECT_NE(ended.err.find("run/results.sqlite: was removed, moved or replaced while the run wrote to it, so the run ends; what was recorded is lost"),
            std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("[4/9]"), std::string::npos) << "it did not stop at the next trial: " << ended.err;
  EXPECT_EQ(ended.err.find("are kept"), std::string::npos) << ended.err;
  EXPECT_FALSE(anything_survives());
}

// By the file of another run, as `cp` does it.
TEST_F(Storage, AnOverwrittenResultsFileEndsTheRunWithTheTruth) {
  ASSERT_EQ(place_.run({config(), "-o", "other"}).code, 0);
  Program program = place_.start({config(), "-o", "run", "--set", "seeds=[1,2,3,4,5,6,7,8,9]", "--set", "epochs=100"});
  ASSERT_TRUE(program.says("[1/9]", 60));
  fs::copy_file(at("other/results.sqlite"), at("run/results.sqlite"), fs::copy_options::overwrite_existing);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.code, 4) << ended.err;
  EXPECT_NE(ended.err.find("run/results.sqlite: was overwritten by another program while the run wrote to it, so the run ends; what was "
                           "recorded is lost"), std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("[4/9]"), std::string::npos) << "it did not stop at the next trial: " << ended.err;
  EXPECT_EQ(run_in("run").rows.size(), 1u) << "the other run";
  EXPECT_EQ(run_in("run").rows[0].result.status, TrialStatus::done);
}

// Reading so many rows takes seconds.
TEST_F(Storage, ASignalEndsTheReadingOfARunThatIsResumed) {
  ASSERT_EQ(place_.run({config(), "-o", "run"}).code, 0);
  change("run", "WITH RECURSIVE n (i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) "
                "INSERT INTO epoch SELECT 1, i, 0.1, 0.2, 0.3, 0.4, 0.5 FROM n");
  Program program = place_.start({config(), "-o", "run", "--resume"});
  ASSERT_TRUE(program.says("data: ", 60));
  const auto begin = std::chrono::steady_clock::now();
  program.signal(SIGTERM);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.code, 143) << ended.err;
  EXPECT_NE(ended.err.find("run/results.sqlite: reading was stopped by a signal"), std::string::npos) << ended.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

TEST_F(Storage, ARenamedConfigIsResumed) {
  ASSERT_EQ(place_.run({config()}).code, 0);
  fs::rename(at("fine.yaml"), at("renamed.yaml"));
  const Ended ended = place_.run({"renamed.yaml", "--resume"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.err.find("no trials left to run"), std::string::npos) << ended.err;
  EXPECT_EQ(place_.only_run().rows.size(), 1u);
}

TEST_F(Storage, ResumingWhatIsNotThereIsWrongUsage) {
  const Ended absent = place_.run({config(), "--resume", "-o", "new"});
  EXPECT_EQ(absent.code, 2) << absent.err;
  EXPECT_NE(absent.err.find("new: there is no run in this directory, so there is nothing to resume"), std::string::npos) << absent.err;
  EXPECT_FALSE(fs::exists(at("new")));
  ASSERT_EQ(place_.run({config(), "-o", "results"}).code, 0);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"--resume", "results"}, {"results", "--resume"}}) {
    const Ended folder = place_.run(words);
    EXPECT_EQ(folder.code, 2) << folder.err;
    EXPECT_NE(folder.err.find("to continue it, write: mgcompare 'fine.yaml' --resume -o 'results'"), std::string::npos) << folder.err;
  }
}

TEST_F(Storage, ResumesTheDirectoryBehindTheConfig) {
  ASSERT_EQ(place_.run({config(), "-o", "results"}).code, 0);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {config(), "--resume", "results"}, {config(), "--resume=results"}, {"--resume=results", config()}, {"run", "--resume=results", config()}}) {
    const Ended again = place_.run(words);
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_NE(again.err.find("no trials left to run; writing the reports of results again"), std::string::npos) << again.err;
  }
  const Ended nameless = place_.run({config(), "--resume="});
  EXPECT_EQ(nameless.code, 2);
  EXPECT_NE(nameless.err.find("--resume= names no directory"), std::string::npos) << nameless.err;
  EXPECT_EQ(place_.run({config(), "--resume=none"}).code, 2);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{config(), "results"}, {config(), "--resume", "results", "-o", "other"}}) {
    const Ended refused = place_.run(words);
    EXPECT_EQ(refused.code, 2) << refused.err;
    EXPECT_NE(refused.err.find("'results' is not expected after the config"), std::string::npos) << refused.err;
  }
}

TEST_F(Storage, ACutIndexOfTheLogEndsTheRunWithASentence) {
  Program program = place_.start({config(), "-o", "run", "--set", "seeds=[1,2,3,4,5,6]", "--set", "epochs=200"});
  ASSERT_TRUE(program.says("[1/6]", 60));
  if (!fs::exists(at("run/results.sqlite-shm"))) GTEST_SKIP() << "this file system has no log of the results";
  fs::resize_file(at("run/results.sqlite-shm"), 0);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.code, 4) << ended.err;
  EXPECT_NE(ended.err.find("another program cut a file short while this one used it, most likely results.sqlite-shm"), std::string::npos) << ended.err;
  EXPECT_EQ(run_in("run").rows[0].result.status, TrialStatus::done);
  EXPECT_EQ(place_.run({config(), "-o", "run", "--resume", "--set", "seeds=[1,2,3,4,5,6]", "--set", "epochs=200"}).code, 0);
}

TEST_F(Storage, ALongPathIsNotALackOfSpace) {
  std::string path = "run";
  for (int level = 0; level < 3; ++level) path += "/" + std::string(200, 'x');
  for (const std::string& directory : {path, std::string(300, 'x'), std::string(5000, 'x')}) {
    const Ended ended = place_.run({config(), "-o", directory});
    EXPECT_EQ(ended.code, 4) << ended.err;
    EXPECT_NE(ended.err.find("too long"), std::string::npos) << ended.err;
    EXPECT_EQ(ended.err.find("space"), std::string::npos) << ended.err;
  }
}

// A plugin in a directory of its own, so that it can be built again.
class OwnPlugin : public Storage {
 protected:
  void SetUp() override {
    Storage::SetUp();
    if (IsSkipped()) return;
    fs::create_directory(at("plugins"));
    fs::copy_file(fs::path(MGCOMPARE_BINARY_DIR) / "lib/mgcompare/bad_plugins/strategy_misbehave.so", file_);
  }
  std::string config() const {
    return place_.write("own.yaml", small_config("scaling: {devices: [cpu:1], batch: 64}\nstrategies: [serial, misbehave]\n"));
  }
  // Bytes behind its last section do not matter to the loader.
  void build_again() const { std::ofstream(file_, std::ios::app | std::ios::binary) << "another build"; }

  const fs::path file_ = at("plugins/strategy_misbehave.so");
  const std::map<std::string, std::string> path_ = {{"MGCOMPARE_PLUGIN_PATH", at("plugins").string()}};
};

TEST_F(OwnPlugin, ThatIsBuiltAgainRunsItsTrialsAgain) {
  ASSERT_EQ(place_.run({config(), "-o", "run"}, path_).code, 0);
  build_again();
  const Ended ended = place_.run({config(), "-o", "run", "--resume"}, path_);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.err.find("1 finished trial of misbehave runs again, because the plugin has changed since"), std::string::npos)
      << ended.err;
  EXPECT_EQ(row_of(run_in("run"), "misbehave").attempt, 2);
  EXPECT_EQ(row_of(run_in("run"), "serial").attempt, 1);
}

TEST_F(OwnPlugin, ThatChangesDuringTheRunIsNotMixed) {
  Program program = place_.start({config(), "-o", "run", "--set", "seeds=[1,2,3,4,5,6]", "--set", "epochs=200"}, path_);
  ASSERT_TRUE(program.says(" 1/", 60));
  build_again();
  EXPECT_EQ(program.wait().code, 3);
  int changed = 0;
  for (const Row& row : run_in("run").rows)
    changed += row.result.cause.find("has changed since the run was planned") != std::string::npos ? 1 : 0;
  EXPECT_GT(changed, 0);
}

// The file is not repeated in a fresh worker, where it would be missing too.
TEST_F(OwnPlugin, ThatIsRemovedDuringTheRunIsSaidToBeGone) {
  Program program = place_.start({config(), "-o", "run", "--set", "seeds=[1,2,3,4,5,6]", "--set", "epochs=200"}, path_);
  ASSERT_TRUE(program.says(" 1/", 60));
  fs::remove(file_);
  const Ended ended = program.wait();
  EXPECT_EQ(ended.code, 3);
  int gone = 0;
  for (const Row& row : run_in("run").rows) {
    if (row.result.cause.empty()) continue;
    ++gone;
    EXPECT_EQ(row.result.cause, file_.string() + " is gone since the run was planned; put it back, and run again with --resume");
    EXPECT_TRUE(row.result.notes.empty()) << row.result.notes[0];
  }
  EXPECT_GT(gone, 0);
  EXPECT_EQ(ended.err.find("in a worker used by"), std::string::npos) << ended.err;
  const Ended resumed = place_.run({"own.yaml", "-o", "run", "--resume", "--set", "seeds=[1,2,3,4,5,6]", "--set", "epochs=200"}, path_);
  EXPECT_EQ(resumed.code, 2) << resumed.err;
  EXPECT_NE(resumed.err.find("there is no strategy 'misbehave'"), std::string::npos) << resumed.err;
  EXPECT_NE(resumed.err.find("`mgcompare plugins` lists the directories that were searched"), std::string::npos) << resumed.err;
}

// The path of the plugin in the results leads nowhere. What is executed comes from the search path, and is the build of the run.
TEST_F(Storage, AReplayTakesNoPathFromTheResults) {
  place_.write("free.yaml", small_config("scaling: {devices: [cpu:1], batch: 64, ranks_per_device: 2}\nmeasure: {record: true}\n"
                                         "strategies: [async_sgd]\n"));
  ASSERT_EQ(place_.run({"free.yaml", "-o", "run"}).code, 0);
  const auto set = [&](const std::string& key, const std::string& value) {
    const Database database(at("run/results.sqlite").string(), Database::Mode::write);
    database.run("UPDATE trial SET trial_json = json_set(trial_json, '$." + key + "', ?)", {value});
    for (const Row& row : run_in("run").rows) seal_trial(database, row.trial.number);
  };
  const std::string sum = run_in("run").rows[0].trial.plugin_sha256;
  EXPECT_EQ(sum.size(), 64u);
  set("plugin_file", "/absent/evil.so");
  const Ended ended = place_.run({"replay", "run"});
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  set("plugin_sha256", std::string(64, '0'));
  const Ended other = place_.run({"replay", "run"});
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.out.find("is not the build with which the trial ran"), std::string::npos) << other.out;
  set("plugin_sha256", sum);
  set("strategy.name", "unknown");
  const Ended unknown = place_.run({"replay", "run"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_NE(unknown.out.find("no plugin of this name is in the search path"), std::string::npos) << unknown.out;
}

// A config may name plugins. Those in a stored config are used only if the user says so.
TEST_F(Storage, AReplayUsesPluginDirectoriesOfTheResultsOnlyIfTheyAreTrusted) {
  fs::create_directory(at("plugins"));
  fs::copy_file(fs::path(MGCOMPARE_BINARY_DIR) / "lib/mgcompare/plugins/strategy_async_sgd.so", at("plugins/strategy_own.so"));
  std::string bytes = text_of(at("plugins/strategy_own.so"));
  for (std::size_t i; (i = bytes.find(";async_sgd;")) != std::string::npos;) bytes.replace(i, 11, ";async_own;");
  std::ofstream(at("plugins/strategy_own.so"), std::ios::binary | std::ios::trunc) << bytes;
  place_.write("free.yaml", small_config("scaling: {devices: [cpu:1], batch: 64, ranks_per_device: 2}\nmeasure: {record: true}\n"
                                         "seeds: [1, 2]\nplugins: plugins\nstrategies: [async_own]\n"));
  const Ended run = place_.run({"free.yaml", "-o", "run"});
  ASSERT_EQ(run.code, 0) << run.err;
  const Ended untrusted = place_.run({"replay", "run"});
  EXPECT_EQ(untrusted.code, 1);
  EXPECT_NE(untrusted.out.find("seed 2: its plugin is missing"), std::string::npos) << untrusted.out;
  EXPECT_NE(untrusted.out.find("async_own: no plugin of this name is in the search path (/"), std::string::npos) << untrusted.out;
  EXPECT_EQ(untrusted.out.find("--trust-results"), untrusted.out.rfind("--trust-results")) << "said once: " << untrusted.out;
  EXPECT_EQ(place_.run({"replay", "run", "--trust-results"}).code, 0);
}

// A plan of many seeds takes memory in proportion to their number.
TEST_F(Storage, SeedsCostLittle) {
  std::string seeds = "seeds=[1";
  for (int seed = 2; seed <= 9000; ++seed) seeds += "," + std::to_string(seed);
  rusage before{}, after{};
  getrusage(RUSAGE_CHILDREN, &before);
  EXPECT_EQ(place_.run({config(), "--dry-run", "--set", seeds + "]"}).code, 0);
  getrusage(RUSAGE_CHILDREN, &after);
  if (before.ru_maxrss > 400'000) GTEST_SKIP() << "an earlier program took more";
  EXPECT_LT(after.ru_maxrss, 400'000) << "kB";
}

}  // namespace
}  // namespace mgcompare
