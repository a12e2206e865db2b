// The results file of a run in progress is replaced or overwritten.

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "results/results_store.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class WrittenResults : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  static Trial trial(int number) { return make_trial(number, "alone", 1, static_cast<std::uint64_t>(number)); }
  static RunInfo info() { return RunMaker().run.info; }

  void SetUp() override {
    ResultsStore other(path("other"));
    other.begin(info(), {trial(7)});
    other.add(trial(7), make_result(1000, 8, 0.985));
  }
  std::string content(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // As `cp` does: the file stays the same one.
  void overwrite() const { std::ofstream(path("run/results.sqlite"), std::ios::binary | std::ios::trunc) << content("other/results.sqlite"); }
  static auto ends_with_the_truth(const char* what) {
    return ThrowsMessage<NotWritable>(
        AllOf(HasSubstr("run/results.sqlite: was "), HasSubstr(what), HasSubstr("while the run wrote to it, so the run ends; what was recorded is lost")));
  }
  // The run that took the place is as it was.
  void expect_other_run() const {
    EXPECT_EQ(content("run/results.sqlite"), content("other/results.sqlite"));
    const mgcompare::Run run = read_run(path("run"));
    ASSERT_EQ(run.rows.size(), 1u);
    EXPECT_EQ(run.rows[0].trial.number, 7);
    EXPECT_EQ(run.rows[0].result.status, TrialStatus::done);
    EXPECT_TRUE(run.info.taints.empty());
  }

 private:
  const Folder folder_;
};

TEST_F(WrittenResults, ThatAreOverwrittenEndTheRunAndAreLeftAsTheyAre) {
  {
    ResultsStore results(path("run"));
    results.begin(info(), {trial(1), trial(2)});
    results.start(trial(1));
    overwrite();
    EXPECT_THAT([&] { results.add(trial(1), make_result(1000, 8, 0.985)); }, ends_with_the_truth("overwritten by another program"));
    EXPECT_THAT([&] { results.start(trial(2)); }, ends_with_the_truth("overwritten"));
    EXPECT_THAT([&] { results.read(); }, ends_with_the_truth("overwritten"));
  }
  expect_other_run();
}

TEST_F(WrittenResults, ThatAreReplacedEndTheRunAndAreLeftAsTheyAre) {
  {
    ResultsStore results(path("run"));
    results.begin(info(), {trial(1), trial(2)});
    results.start(trial(1));
    fs::copy_file(path("other/results.sqlite"), path("run/new"));
    fs::rename(path("run/new"), path("run/results.sqlite"));
    EXPECT_THAT([&] { results.add(trial(1), make_result(1000, 8, 0.985)); }, ends_with_the_truth("replaced"));
  }
  expect_other_run();
}

TEST_F(WrittenResults, MayNotBeAnOlderCopyOfTheirRun) {
  { ResultsStore(path("run")).begin(info(), {trial(1), trial(2)}); }
  fs::remove_all(path("other"));
  fs::copy(path("run"), path("other"));
  ResultsStore results(path("run"));
  results.resume(info(), {trial(1), trial(2)});
  results.add(trial(1), make_result(1000, 8, 0.985));
  overwrite();
  EXPECT_THAT([&] { results.start(trial(2)); }, ends_with_the_truth("overwritten"));
}

// SQLite goes on in a log that no path leads to: a kill would lose what is in it.
TEST_F(WrittenResults, WhoseLogIsRemovedEndTheRunAndAreWhole) {
  {
    ResultsStore results(path("run"));
    results.begin(info(), {trial(1), trial(2)});
    results.add(trial(1), make_result(1000, 8, 0.985));
    ASSERT_TRUE(fs::remove(path("run/results.sqlite-wal")));
    EXPECT_THAT([&] { results.start(trial(2)); },
                ThrowsMessage<NotWritable>(AllOf(HasSubstr("results.sqlite-wal: was removed or replaced"), HasSubstr("--resume continues"))));
  }
  EXPECT_EQ(read_run(path("run")).rows[0].result.status, TrialStatus::done);
}

// Some file systems delete what was not touched for a while.
TEST_F(WrittenResults, MayBeTouchedCopiedAndRead) {
  ResultsStore results(path("run"));
  results.begin(info(), {trial(1), trial(2)});
  fs::last_write_time(path("run/results.sqlite"), fs::file_time_type::clock::now() + std::chrono::hours(1));
  fs::copy(path("run"), path("copy"));
  EXPECT_EQ(read_run(path("run")).rows.size(), 2u);
  results.add(trial(1), make_result(1000, 8, 0.985));
  EXPECT_EQ(results.read().rows[0].result.status, TrialStatus::done);
}

// The log is written to the file when it has a thousand pages, and pages move.
TEST_F(WrittenResults, AreRecognisedAfterManyCommits) {
  ResultsStore results(path("run"));
  std::vector<Trial> plan;
  for (int number = 1; number <= 400; ++number) plan.push_back(trial(number));
  results.begin(info(), plan);
  Result large = make_result(1000, 8, 0.985);
  large.log.assign(100, std::string(200, 'x'));
  for (const Trial& each : plan) results.add(each, large);
  EXPECT_GT(fs::file_size(path("run/results.sqlite")), 4'000'000u);
  overwrite();
  EXPECT_THAT([&] { results.start(plan[0]); }, ends_with_the_truth("overwritten"));
}

TEST_F(WrittenResults, MayBeReachedByALinkThatChanges) {
  fs::create_directory(path("real"));
  fs::create_directory_symlink(path("real"), path("run"));
  ResultsStore results(path("run"));
  results.begin(info(), {trial(1)});
  fs::remove(path("run"));
  fs::create_directory_symlink(path("other"), path("run"));
  EXPECT_NO_THROW(results.add(trial(1), make_result(1000, 8, 0.985)));
  EXPECT_EQ(read_run(path("real")).rows[0].state, RowState::finished);
}

}  // namespace
}  // namespace mgcompare
