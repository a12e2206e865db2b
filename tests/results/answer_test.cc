// The first sentence of a report, and the advice that follows from it.

#include "reports/answer.h"

#include <gmock/gmock.h>

#include <functional>

#include "reports/summary.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Answer, SaysThatTheFasterRowIsLessAccurate) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const double noise = 0.001 * static_cast<double>(seed);
    maker.baseline(seed, make_result(1000, 0, 0.92 + noise));
    maker.add("hasty", 2, seed, make_result(1600, 0, 0.86 + noise));
  }
  const std::string text = closing_summary(maker.run, {});
  EXPECT_THAT(text, StartsWith("No row reached 97 %; by samples/s, several devices are faster, but less accurate (0.8620 against 0.9220): at best 1.60"));
  EXPECT_THAT(text, HasSubstr("of one device, if its lower accuracy is enough: 0.8620 against 0.9220\n"));
  for (Row& row : maker.run.rows) row.result.accuracy = 0.92;
  EXPECT_THAT(closing_summary(maker.run, {}), StartsWith("No row reached 97 %; by samples/s, several devices are faster: at best 1.60"));
}

TEST(Answer, NamesAFasterRowOfAnotherBatch) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    maker.baseline(seed, make_result(1000, 0, 0.92));
    maker.baseline(seed, make_result(5000, 0, 0.92), 512);
    maker.add("together", 2, seed, make_result(1600, 0, 0.92));
  }
  EXPECT_THAT(closing_summary(maker.run, {}), HasSubstr("by together on 2 CPU cores, batch 128; of all rows alone on 1 CPU core, batch 512 is the fastest\n"));
}

// What the report says about the machine is in its first sentence, too.
TEST(Answer, CarriesTheDoubtAboutTheMachine) {
  const auto verdict = [](const std::function<void(mgcompare::Run&)>& change) {
    mgcompare::Run run = three_by_three();
    change(run);
    return answer(compare_rows(run)).verdict;
  };
  EXPECT_EQ(verdict([](mgcompare::Run&) {}), "Several devices are faster");
  const auto taint = [](mgcompare::Run& run) { run.info.taints = {"cuda:0 is slowed down by heat"}; };
  EXPECT_EQ(verdict(taint), "Several devices are faster, though the run is tainted");
  const auto load = [](mgcompare::Run& run) { run.info.environment = {{"cpu cores", "2 physical"}, {"load before the run", "1.50"}}; };
  EXPECT_EQ(verdict(load), "Several devices are faster, though the load average before the run, earlier runs included, was 1.50 on 2 cores");
  EXPECT_EQ(verdict([](mgcompare::Run& run) { run.info.environment = {{"cpu cores", "4 physical"}, {"load before the run", "1.50"}}; }),
            "Several devices are faster");
  // The row itself has more ranks than there are cores: that is no doubt about the machine.
  EXPECT_EQ(verdict([](mgcompare::Run& run) { run.info.environment = {{"cpu cores", "1 physical"}, {"load before the run", "0.10"}}; }),
            "Several devices are faster");
  // Slow throughout, from one end to the other: 10 %, and no other row changes.
  const auto drift = [](mgcompare::Run& run) {
    for (Row& row : run.rows)
      if (row.trial.strategy.name == "alone" && row.trial.seed == 3) row.result.samples_per_second *= 0.9;
  };
  EXPECT_THAT(verdict(drift), StartsWith("Several devices are faster, though the machine's speed changed by -"));
  EXPECT_THAT(verdict([&](mgcompare::Run& run) { taint(run), drift(run); }), HasSubstr("though the run is tainted and the machine's speed changed by -"));
  EXPECT_THAT(verdict([&](mgcompare::Run& run) { load(run), drift(run); }),
              HasSubstr("though the load average before the run, earlier runs included, was 1.50 on 2 cores and the machine's speed changed by -"));
  mgcompare::Run run = three_by_three();
  taint(run);
  EXPECT_THAT(closing_summary(run, {}), HasSubstr("\nSeveral devices are faster, though the run is tainted: at best 1.60"));
  // An answer that claims nothing needs no doubt.
  run.rows.resize(3);
  EXPECT_EQ(answer(compare_rows(run)).verdict, "A gain is seen, but not confirmed");
}

}  // namespace
}  // namespace mgcompare
