// A disk that fills up or fails while a run writes to it, and two runs of one directory. The fault is that of tests/fakes/disk.cc.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

class Disk : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer must be the first library";
#endif
    if (const std::string missing = missing_piece(); !missing.empty()) GTEST_SKIP() << missing;
    if (!fs::exists(kLibrary)) GTEST_SKIP() << kLibrary << " is not built";
    place_.write("two.yaml", "layers: [flatten, {dense: 10}]\ndata: {set: digits, train_samples: 128, test_samples: 64}\n"
                             "epochs: 1\nseeds: [1, 2]\nscaling: {devices: [cpu:1], batch: 64}\nstrategies: [serial]\n");
  }

  // Runs with the fault, repairs the disk, and resumes. Returns whether the fault occurred.
  bool survives(const std::string& kind, int first) const {
    const std::string name = kind + std::to_string(first), folder = (place_.folder() / name).string();
    const Ended broken = place_.run({"two.yaml", "-o", name}, {{"LD_PRELOAD", kLibrary},
                                                                {"MGCOMPARE_TEST_DISK", folder + ":" + kind + ":" + std::to_string(first)}});
    if (broken.code == 0) return false;
    EXPECT_EQ(broken.code, 4) << name << broken.err;
    EXPECT_NE(broken.err.find("annot be written"), std::string::npos) << name << broken.err;
    const auto finished = static_cast<int>(std::count(broken.err.begin(), broken.err.end(), '%'));
    std::vector<std::string> again = {"two.yaml", "-o", name};
    if (has_run(folder)) {
      again.push_back("--resume");
      int stored = 0;
      for (const Row& row : read_run(folder).rows) stored += row.state == RowState::finished ? 1 : 0;
      EXPECT_GE(stored, finished) << name << ": a trial that was printed as finished is lost";
    }
    const Ended resumed = place_.run(again);
    EXPECT_EQ(resumed.code, 0) << name << resumed.err;
    int kept = 0;
    for (const Row& row : read_run(folder).rows) {
      EXPECT_EQ(row.result.status, TrialStatus::done) << name << row.result.cause;
      kept += row.attempt == 1 ? 1 : 0;
    }
    EXPECT_GE(kept, finished) << name << ": a finished trial ran again";
    EXPECT_TRUE(fs::exists(folder + "/report.md")) << name;
    fs::remove_all(folder);
    return true;
  }

  // Runs under each name of the config leave nothing but runs/.
  void expect_runs_inside(const std::vector<std::string>& names) const {
    const fs::path outside = place_.folder().parent_path() / "x";
    const bool was_there = fs::exists(outside);  // of somebody else
    for (const std::string& name : names) {
      const Ended ended = place_.run({"two.yaml", "--seed", "1", "--set", "name='" + name + "'"});
      EXPECT_EQ(ended.code, 0) << name << ended.err;
    }
    std::size_t runs = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(place_.folder() / "runs")) runs += has_run(entry.path().string()) ? 1 : 0;
    EXPECT_EQ(runs, names.size());
    for (const fs::directory_entry& entry : fs::directory_iterator(place_.folder())) {
      const std::string name = entry.path().filename();
      EXPECT_TRUE(name == "runs" || name == "two.yaml" || name.starts_with("std")) << name;
    }
    EXPECT_EQ(fs::exists(outside), was_there);
  }

  // Two runs that begin in one directory at the same time.
  void expect_one_owner(const std::string& folder) const {
    Program one = place_.start({"two.yaml", "-o", folder}), other = place_.start({"two.yaml", "-o", folder});
    const int first = one.wait().code, second = other.wait().code;
    EXPECT_EQ(std::min(first, second), 0) << first << " " << second;
    EXPECT_EQ(std::max(first, second), 5) << first << " " << second;
    EXPECT_EQ(place_.run({"two.yaml", "-o", folder, "--resume"}).code, 0) << "the lock outlived its holder";
  }

  const std::string kLibrary = MGCOMPARE_BINARY_DIR "/lib/mgcompare/fakes/fake_disk.so";
  Workplace place_;
};

TEST_F(Disk, ThatFillsUpLosesNothingThatWasStored) {
  for (const int first : {1, 6, 20}) EXPECT_TRUE(survives("write", first)) << first;
}

TEST_F(Disk, ThatFailsToSyncEndsTheRun) {
  for (const int first : {1, 5}) EXPECT_TRUE(survives("sync", first)) << first;
}

TEST_F(Disk, ThatIsFullIsNotTheFaultOfAPlugin) {
  const std::string scratch = (place_.folder() / "scratch").string();
  fs::create_directory(scratch);
  const Ended ended = place_.run({"verify", "two.yaml", "--quick", "--only", "strategy=replicated"},
                                 {{"LD_PRELOAD", kLibrary}, {"TMPDIR", scratch}, {"MGCOMPARE_TEST_DISK", scratch + ":write:1"}});
  EXPECT_EQ(ended.code, 4) << ended.out << ended.err;
  EXPECT_NE(ended.err.find("cannot keep its checkpoints"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("TMPDIR"), std::string::npos) << ended.err;
  EXPECT_EQ(ended.out.find("FAILED"), std::string::npos) << ended.out;
}

// SQLite reads the header, then pages; `export` and the others read in the same way.
TEST_F(Disk, ThatCannotBeReadIsNotSaidToBeUnwritable) {
  ASSERT_EQ(place_.run({"two.yaml", "-o", "run"}).code, 0);
  for (const int first : {1, 2, 4, 8}) {
    const std::string fault = (place_.folder() / "run").string() + ":read:" + std::to_string(first);
    const Ended ended = place_.run({"report", "run"}, {{"LD_PRELOAD", kLibrary}, {"MGCOMPARE_TEST_DISK", fault}});
    EXPECT_EQ(ended.code, 4) << first << ended.err;
    EXPECT_NE(ended.err.find("run/results.sqlite: cannot be read ("), std::string::npos) << first << ended.err;
    EXPECT_EQ(ended.err.find("writ"), std::string::npos) << first << ended.err;
  }
}

TEST_F(Disk, IsSharedByNoTwoRunsThatBeginTogether) { expect_one_owner("both"); }

TEST_F(Disk, HasNoRunOutsideOfItsDirectory) { expect_runs_inside({"../../x", "/etc/x", std::string(200, 'x')}); }

// At each write and each sync of a run.
using LongDisk = Disk;
TEST_F(LongDisk, MayFillUpAtAnyWrite) {
  int first = 1;
  while (first <= 300 && survives("write", first)) ++first;
  EXPECT_GT(first, 20);
}

TEST_F(LongDisk, MayFailAtAnySync) {
  int first = 1;
  while (first <= 100 && survives("sync", first)) ++first;
  EXPECT_GT(first, 5);
}

TEST_F(LongDisk, IsSharedByNoTwoRunsOfADirectory) {
  for (int round = 0; round < 50; ++round) expect_one_owner("both" + std::to_string(round));
}

TEST_F(LongDisk, HasNoRunOutsideOfItsDirectoryWhateverItsName) {
  expect_runs_inside({"../../x", "/etc/x", "..", ".", "a/b", "trailing.", "UPPER", "ünï", "-", "-o", "a b", "~", "runs", "%s%n",
                      std::string(60, 'x')});
}

}  // namespace
}  // namespace mgcompare
