// `run --until-decided`, and a price that changes between sessions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "rig.h"

namespace mgcompare {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class UntilDecided : public CommandTest {
 protected:
  std::string config() const {
    return place_.write("one.yaml",
                        "layers: [flatten, {dense: 32}, tanh, {dense: 10}]\ndata: {set: digits, train_samples: 16384, test_samples: 128}\n"
                        "epochs: 4\nmeasure: {warm_up_steps: 1}\nscaling: {devices: [cpu:1, cpu:2], batch: 64}\n"
                        "strategies: [serial, replicated]\n");
  }
  mgcompare::Run run() const { return read_run((place_.folder() / "run").string()); }
};

TEST_F(UntilDecided, AddsBlocksOfRepeats) {
  const Ended ended = place_.run({config(), "-o", "run", "--until-decided", "0.4"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("At least 2 more repeats of each row"), HasSubstr("block 2: one more repeat of each row, with seed 2"),
                               HasSubstr("block 3: one more repeat of each row, with seed 3"), HasSubstr("no further repeats: ")));
  // Every row has as many repeats, each with a seed of its own.
  std::map<std::string, std::set<std::uint64_t>> seeds;
  for (const Row& row : run().rows) {
    EXPECT_EQ(row.result.status, TrialStatus::done) << row.result.cause;
    if (!row.trial.is_repeat()) continue;
    EXPECT_TRUE(seeds[row_name(row.trial)].insert(row.trial.seed).second);
  }
  ASSERT_EQ(seeds.size(), 3u);
  for (const auto& [name, used] : seeds) EXPECT_EQ(used, seeds.begin()->second) << name;
  EXPECT_GE(seeds.begin()->second.size(), 3u);
  EXPECT_TRUE(run().info.taints.empty());
  // The run is complete: there is nothing to resume, and the added repeats stay.
  const std::size_t rows = run().rows.size();
  const Ended resumed = place_.run({config(), "-o", "run", "--resume", "--price", "2"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("no trials left to run"));
  EXPECT_THAT(resumed.out, HasSubstr("Cheapest training: "));
  EXPECT_EQ(run().rows.size(), rows);
}

TEST_F(UntilDecided, StopsWhereTheNextBlockDoesNotFit) {
  const Ended ended = place_.run({config(), "-o", "run", "--until-decided", "0.00001"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("no further repeats: block 2 would take "));
}

TEST_F(UntilDecided, RefusesWhatIsNoNumberOfMinutesOrNoPrice) {
  for (const char* minutes : {"0", "-1", "soon", "1e9", "5min"}) {
    const Ended ended = place_.run({config(), "--until-decided", minutes});
    EXPECT_EQ(ended.code, 2) << minutes;
    EXPECT_FALSE(place_.has_runs());
  }
  for (const char* price : {"-1", "free", "2.49EUR", "1e99"}) {
    const Ended ended = place_.run({config(), "--price", price});
    EXPECT_EQ(ended.code, 2) << price;
    EXPECT_THAT(ended.err, HasSubstr("--price"));
  }
}

TEST_F(UntilDecided, ResumesABlockThatWasInterrupted) {
  Program program = place_.start({config(), "-o", "run", "--until-decided", "1", "--set", "epochs=8"});
  ASSERT_TRUE(program.says("block 2: one more repeat", 60));
  program.signal(SIGINT);
  ASSERT_EQ(program.wait().code, 130);
  const auto unfinished = [&] {
    const auto now = run();
    return std::count_if(now.rows.begin(), now.rows.end(), [](const Row& row) { return row.state != RowState::finished || row.result.status != TrialStatus::done; });
  };
  EXPECT_GT(unfinished(), 0);
  const std::size_t rows = run().rows.size();
  const Ended resumed = place_.run({config(), "-o", "run", "--resume", "--set", "epochs=8"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(unfinished(), 0);
  EXPECT_EQ(run().rows.size(), rows);
}

}  // namespace
}  // namespace mgcompare
