// The shipped experiments: each runs on a machine without a GPU, with drawn samples where its data are missing.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "command/rig.h"

namespace mgcompare {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> experiments() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(MGCOMPARE_SOURCE_DIR "/configs"))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string path_of(const std::string& name) { return MGCOMPARE_SOURCE_DIR "/configs/" + name + ".yaml"; }

class Experiments : public CommandTest, public testing::WithParamInterface<std::string> {
 protected:
  // Nothing may be downloaded: what is missing is drawn.
  std::map<std::string, std::string> offline() const {
    return {{"MGCOMPARE_DATA", ""}, {"XDG_CACHE_HOME", place_.folder().string()}, {"https_proxy", "http://127.0.0.1:1"}};
  }
};

TEST_P(Experiments, TrainAFewSteps) {
  const Ended ended =
      place_.run({path_of(GetParam()), "--only", "devices=cpu:1", "--set", "strategies=[serial]", "--set", "data.train_samples=16", "--set",
                  "data.test_samples=8", "--set", "epochs=1", "--set", "scaling.batch=8", "--set", "measure.level=quick", "--set", "measure.warm_up_steps=1"},
                 offline());
  EXPECT_TRUE(ended.code == 0) << ended.code << "\n" << ended.out << ended.err;
}

class LongExperiments : public Experiments {};

TEST_P(LongExperiments, RunOnTwoCores) {
  const Ended ended = place_.start({path_of(GetParam())}, offline()).wait(std::chrono::minutes(15));
  EXPECT_TRUE(ended.code == 0 || ended.code == 3) << ended.out << ended.err;
  // Only rows on hosts that are not named, on more cores than there are, and of frameworks that are not installed cannot run.
  for (const Row& row : place_.only_run().rows) {
    if (row.result.status == TrialStatus::done) continue;
    EXPECT_EQ(row.result.status, TrialStatus::unavailable) << row_name(row.trial);
    EXPECT_THAT(row.result.cause, testing::AnyOf(testing::HasSubstr("name them with --hosts"), testing::StartsWith("asked "), testing::HasSubstr("python3")))
        << row_name(row.trial);
  }
}

const auto kName = [](const auto& info) { return info.param; };
INSTANTIATE_TEST_SUITE_P(All, Experiments, testing::ValuesIn(experiments()), kName);
INSTANTIATE_TEST_SUITE_P(All, LongExperiments, testing::ValuesIn(experiments()), kName);

}  // namespace
}  // namespace mgcompare
