// What a run must not write into the directory of another run, and not take over from it.

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

class OtherRuns : public CommandTest {
 protected:
  std::string config() const {
    return place_.write("fine.yaml", "layers: [flatten, {dense: 16}, tanh, {dense: 10}]\n"
                                     "data: {set: digits, train_samples: 256, test_samples: 64}\nepochs: 1\n"
                                     "scaling: {devices: [cpu:1], batch: 64}\nstrategies: [serial]\n");
  }
  fs::path at(const std::string& name) const { return place_.folder() / name; }
};

// The output directory is a link, which is pointed at another run's directory.
TEST_F(OtherRuns, ALinkThatLeadsToAnotherRunEndsTheRun) {
  ASSERT_EQ(place_.run({config(), "-o", "other"}).code, 0);
  const std::string report = text_of(at("other/results.json"));
  fs::create_directory(at("mine"));
  fs::create_directory_symlink("mine", at("latest"));
  Program program = place_.start({config(), "-o", "latest", "--set", "seeds=[1,2,3,4,5,6,7,8,9]", "--set", "epochs=100"});
  ASSERT_TRUE(program.says("[1/9]", 60));
  fs::remove(at("latest"));
  fs::create_directory_symlink("other", at("latest"));
  const Ended ended = program.wait();
  EXPECT_EQ(ended.code, 4) << ended.err;
  EXPECT_NE(ended.err.find("latest: no longer leads to " + fs::canonical(at("mine")).string() + ", to which the run writes, so the run ends"),
            std::string::npos) << ended.err;
  EXPECT_EQ(text_of(at("other/results.json")), report);
  EXPECT_EQ(read_run(at("mine").string()).rows.at(0).result.status, TrialStatus::done);
}

// As `cp -al` copies a run: both directories would get the results.
TEST_F(OtherRuns, AResultsFileWithASecondNameIsNotContinued) {
  ASSERT_EQ(place_.run({config(), "-o", "one"}).code, 0);
  fs::create_directory(at("two"));
  fs::create_hard_link(at("one/results.sqlite"), at("two/results.sqlite"));
  const std::string before = text_of(at("one/results.sqlite"));
  const Ended ended = place_.run({config(), "-o", "two", "--resume"});
  EXPECT_EQ(ended.code, 4) << ended.err;
  EXPECT_NE(ended.err.find("two/results.sqlite: has 2 names (hard links), so to write it would change the run in another directory too; make it "
                           "a file of its own (cp -p "), std::string::npos) << ended.err;
  EXPECT_EQ(text_of(at("one/results.sqlite")), before);
  EXPECT_EQ(place_.run({"report", "two"}).code, 0);
}

// Its times would be those of the other run.
TEST_F(OtherRuns, TheirCheckpointsAreNotUsed) {
  const std::vector<std::string> words = {config(), "-o", "run", "--set", "epochs=800", "--set", "checkpoint_epochs=20"};
  for (const bool resumes : {true, false}) {
    fs::remove_all(at("run"));
    Program program = place_.start(words);
    for (int i = 0; i < 6000 && !fs::exists(at("run/checkpoints/trial-1")); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    program.signal(SIGKILL);
    program.wait();
    ASSERT_TRUE(fs::exists(at("run/checkpoints/trial-1")));
    std::vector<std::string> again = words;
    if (resumes) again.push_back("--resume");
    else for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(at(std::string("run/results.sqlite") + suffix));
    const Ended ended = place_.run(again);
    EXPECT_EQ(ended.code, 0) << ended.err;
    const std::vector<std::string> notes = read_run(at("run").string()).rows.at(0).result.notes;
    ASSERT_EQ(notes.size(), resumes ? 0u : 1u);
    if (!resumes) {
      EXPECT_NE(notes[0].find("was not used, because it belongs to another run"), std::string::npos) << notes[0];
    }
  }
}

}  // namespace
}  // namespace mgcompare
