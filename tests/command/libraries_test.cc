// Code that the program opens beside its own file: its back ends.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

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
