// Records a run and replays it in another process.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "results/sqlite.h"
#include "rig.h"

namespace mgcompare {
namespace {

class Replay : public CommandTest {
 protected:
  std::string config(const std::string& rest) const {
    return place_.write("free.yaml", small_config("scaling: {devices: [cpu:1], batch: 64, ranks_per_device: 3}\n" + rest));
  }
  std::string directory() const { return place_.only_run().directory; }
};

TEST_F(Replay, RepeatsWhatRanFreelyToTheBit) {
  ASSERT_EQ(place_.run({config("measure: {record: true}\nstrategies: [replicated, async_sgd, easgd]\n")}).code, 0);
  const Ended ended = place_.run({"replay", directory()});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("async_sgd cpu:1 x 3 ranks batch 64, seed 1: the same weights, bit by bit"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("2 of 2 trials ended with the same weights"), std::string::npos) << ended.out;

  // A record of another trial, one that is damaged and one that is gone: each is a trial that failed.
  const std::string of_async = directory() + "/records/trial-" + std::to_string(row_of(place_.only_run(), "async_sgd").trial.number);
  const std::string of_easgd = directory() + "/records/trial-" + std::to_string(row_of(place_.only_run(), "easgd").trial.number);
  std::filesystem::copy_file(of_easgd, of_async, std::filesystem::copy_options::overwrite_existing);
  const Ended other = place_.run({"replay", directory()});
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.out.find("is not as the trial wrote it"), std::string::npos) << other.out;
  EXPECT_NE(other.out.find("1 of 2 trials"), std::string::npos) << other.out;
  std::ofstream(of_async) << "no record";
  EXPECT_NE(place_.run({"replay", directory()}).out.find("is not as the trial wrote it"), std::string::npos);
  std::filesystem::remove(of_async);
  const Ended gone = place_.run({"replay", directory()});
  EXPECT_EQ(gone.code, 1);
  EXPECT_NE(gone.out.find("its record, is missing"), std::string::npos) << gone.out;
  { std::ofstream sparse(of_async); }
  std::filesystem::resize_file(of_async, std::uintmax_t{1} << 40);
  EXPECT_NE(place_.run({"replay", directory()}).out.find("its record, has more than 4 GiB"), std::string::npos);
  std::filesystem::remove(of_async);
  EXPECT_NE(gone.out.find("1 of 2 trials"), std::string::npos) << gone.out;
  std::filesystem::create_directory(of_async);
  EXPECT_NE(place_.run({"replay", directory()}).out.find("its record, is not a regular file"), std::string::npos);
}

TEST_F(Replay, NoRecordIsLeftOutWithoutAWord) {
  ASSERT_EQ(place_.run({config("measure: {record: true}\nstrategies: [replicated, async_sgd, easgd]\n")}).code, 0);
  const int number = row_of(place_.only_run(), "async_sgd").trial.number;
  const auto replay_after = [&](const std::string& change) {
    const std::string copy = (place_.folder() / "copy").string();
    std::filesystem::remove_all(copy);
    std::filesystem::copy(directory(), copy, std::filesystem::copy_options::recursive);
    Database(copy + "/results.sqlite", Database::Mode::write).script((change + std::to_string(number)).c_str());
    return place_.run({"replay", copy});
  };
  const Ended edited = replay_after("UPDATE trial SET weights_hash = '00' WHERE number = ");
  EXPECT_EQ(edited.code, 1) << edited.out << edited.err;
  EXPECT_NE(edited.out.find("its row in the results file is damaged"), std::string::npos) << edited.out;
  EXPECT_NE(edited.out.find("1 of 2 trials"), std::string::npos) << edited.out;
  const Ended removed = replay_after("DELETE FROM trial WHERE number = ");
  EXPECT_EQ(removed.code, 1) << removed.out << removed.err;
  EXPECT_NE(removed.out.find("is the record of no trial in the results file"), std::string::npos) << removed.out;
}

TEST_F(Replay, WithoutARecordItSaysHowToKeepOne) {
  ASSERT_EQ(place_.run({config("strategies: [async_sgd]\n")}).code, 0);
  const Ended ended = place_.run({"replay", directory()});
  EXPECT_EQ(ended.code, 4);
  EXPECT_NE(ended.err.find("measure: {record: true}"), std::string::npos) << ended.err;
  EXPECT_EQ(place_.run({"replay", directory() + "/nowhere"}).code, 4);
}

TEST_F(Replay, OptionsThatDoNotGoTogetherHaveTheirPlace) {
  for (const char* options : {"rule: softsync, n: 9", "staleness: bounded, bound: -1", "lock: none", "server: cloud"}) {
    const Ended ended = place_.run({config(std::string("strategies: [{async_sgd: {") + options + "}}]\n")});
    EXPECT_EQ(ended.code, 2) << options;
    EXPECT_NE(ended.err.find("free.yaml:6:"), std::string::npos) << ended.err;
  }
  // Without locks neither virtual time nor a record can determine the order.
  for (const char* key : {"numerics.deterministic=true", "measure.record=true"}) {
    const Ended ordered =
        place_.run({config("strategies: [{async_sgd: {rule: hogwild, lock: none}}]\n"), "--set", key});
    EXPECT_EQ(ordered.code, 2) << key;
    EXPECT_NE(ordered.err.find("without locks there is no order"), std::string::npos) << ordered.err;
  }
}

}  // namespace
}  // namespace mgcompare
