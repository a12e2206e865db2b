// Code that the program opens beside its own file: libraries of plugins, and its back ends.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;

class Libraries : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_TRUE(fs::exists(bad_ / "companion2/strategy_companion2.so"));
  }
  std::string companions() const {
    return place_.write("companions.yaml",
                        small_config("plugins: [" + (bad_ / "companion1").string() + ", " + (bad_ / "companion2").string() + "]\n" +
                                     "scaling: {devices: [cpu:1], batch: 64}\nstrategies: [serial, companion1, companion2]\n"));
  }
  const fs::path bad_ = fs::path(MGCOMPARE_BINARY_DIR) / "lib/mgcompare/bad_plugins";
};

// The loader knows libraries by name: in one process, both plugins would get the first one.
TEST_F(Libraries, OfOneNameAreNotMixedUp) {
  const std::string config = companions();
  ASSERT_EQ(place_.run({config, "-o", "apart", "--set", "isolation=trial"}).code, 0);
  const mgcompare::Run apart = read_run((place_.folder() / "apart").string());
  ASSERT_NE(row_of(apart, "companion1").result.weights_hash, row_of(apart, "companion2").result.weights_hash);
  const Ended ended = place_.run({config, "-o", "together", "--set", "seeds=[1, 2]"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  for (const Row& row : read_run((place_.folder() / "together").string()).rows) {
    if (row.trial.seed == 1 && row.trial.strategy.label.starts_with("companion")) {
      EXPECT_EQ(row.result.weights_hash, row_of(apart, row.trial.strategy.label).result.weights_hash) << row_name(row.trial);
    }
    EXPECT_TRUE(row.result.notes.empty()) << row_name(row.trial) << ": " << row.result.notes[0];
  }
}

// Two updates a step break what one rank promises. With the first one's library, the second one would pass.
TEST_F(Libraries, OfOneNameAreVerifiedApart) {
  const Ended ended = place_.run({"verify", companions(), "--quick", "--only", "strategy=companion1", "--only", "strategy=companion2"});
  EXPECT_THAT(ended.out, ContainsRegex("ok +companion1 +[0-9]+ passed, 0 failed"));
  EXPECT_THAT(ended.out, ContainsRegex("FAILED +companion2 +[0-9]+ passed"));
  EXPECT_THAT(ended.out, HasSubstr("one rank equals one device: differs by"));
}

// A copy of the program whose back end can be replaced.
class Builds : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (!IsSkipped()) place_.use_own_program();
  }
  std::string config() const {
    return place_.write("fine.yaml", small_config("scaling: {devices: [cpu:1], batch: 64}\nseeds: [1, 2, 3, 4]\nstrategies: [serial]\n"));
  }
  // By another file, as an installation does it. Bytes behind its last section do not matter to the loader.
  void build_again() const {
    const fs::path module = place_.folder() / "lib/mgcompare/platform_cpu.so", next = place_.folder() / "next";
    std::ofstream(next, std::ios::binary) << text_of(module) << "another build";
    fs::rename(next, module);
  }
};

TEST_F(Builds, AreNotMixedInOneRun) {
  ASSERT_EQ(place_.run({config(), "-o", "run"}).code, 0);
  EXPECT_EQ(place_.run({config(), "-o", "run", "--resume"}).code, 0);
  build_again();
  const Ended ended = place_.run({config(), "-o", "run", "--resume"});
  EXPECT_EQ(ended.code, 5) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("run: the run was begun with another build of platform_cpu.so: timings of two builds are not mixed; run in "
                                   "another directory"));
}

TEST_F(Builds, ThatChangeDuringARunEndItsTrials) {
  Program program = place_.start({config(), "-o", "run", "--set", "epochs=300", "--set", "isolation=trial"});
  ASSERT_TRUE(program.says("[1/4]", 60));
  build_again();
  EXPECT_EQ(program.wait().code, 3);
  const mgcompare::Run run = read_run((place_.folder() / "run").string());
  EXPECT_EQ(run.rows.front().result.status, TrialStatus::done);
  EXPECT_EQ(run.rows.back().result.status, TrialStatus::failed);
  EXPECT_THAT(run.rows.back().result.cause, HasSubstr("platform_cpu.so was replaced or removed since the run began"));
  EXPECT_TRUE(run.rows.back().result.notes.empty());
}

}  // namespace
}  // namespace mgcompare
