// What to do, from which batch on, and the best of each number of devices.

#include <gmock/gmock.h>

#include "reports/advice.h"
#include "reports/batch_range.h"
#include "reports/best_rows.h"
#include "reports/charts/headline.h"
#include "reports/summary.h"
#include "results/runs.h"

namespace mgcompare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// Three repeats of one device and of two at each batch; `speeds` are the speed-ups of two.
Run run_at(const std::vector<std::pair<std::size_t, double>>& speeds) {
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const double noise = 1 + 0.002 * static_cast<double>(seed);
    for (const auto& [batch, speed] : speeds) {
      maker.baseline(seed, make_result(1000 * noise, 0, 0.9), batch);
      maker.add("together", 2, seed, make_result(1000 * speed * noise, 0, 0.9), batch);
    }
  }
  return maker.run;
}

std::string batches(const std::vector<std::pair<std::size_t, double>>& speeds) {
  const auto run = run_at(speeds);
  return batch_range_text(compare_rows(run));
}

TEST(BatchRange, NamesTheFirstBatchThatPays) {
  EXPECT_EQ(batches({{128, 0.8}, {512, 1.3}, {2048, 1.7}}),
            "By samples/s, several devices are faster than one from batch 512 on, of the batches 128, 512 and 2,048");
  EXPECT_EQ(batches({{128, 1.2}, {512, 1.3}}), "By samples/s, several devices are faster than one at all batches: 128 and 512");
  EXPECT_EQ(batches({{128, 0.8}, {512, 0.9}}), "By samples/s, several devices are faster than one at none of the batches 128 and 512");
  EXPECT_EQ(batches({{128, 1.4}, {512, 0.9}}), "By samples/s, several devices are faster than one at batch 128, but not at 512");
  EXPECT_EQ(batches({{128, 1.4}}), "");
}

// One repeat decides nothing.
TEST(BatchRange, TellsNoGainFromAnUndecidedOne) {
  const auto text = [](const std::vector<std::pair<std::size_t, double>>& speeds) {
    RunMaker maker;
    for (const auto& [batch, speed] : speeds) {
      maker.baseline(1, make_result(1000, 0, 0.9), batch);
      maker.add("together", 2, 1, make_result(1000 * speed, 0, 0.9), batch);
    }
    return batch_range_text(compare_rows(maker.run));
  };
  EXPECT_EQ(text({{128, 1.6}, {512, 1.6}}), "By samples/s, a gain of several devices is seen, but not confirmed, at batch 128 and 512");
  EXPECT_EQ(text({{32, 1.0}, {256, 2.06}}),
            "By samples/s, a gain of several devices is seen, but not confirmed, at batch 256; no gain is seen, but none is ruled out, at batch 32");
  RunMaker maker;
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    for (const auto& [batch, speed] : std::vector<std::pair<std::size_t, double>>{{64, 0.5}, {128, 1.0}, {256, seed == 1 ? 0.9 : 1.1}, {512, 1.5}}) {
      maker.baseline(seed, make_result(1000, 0, 0.9), batch);
      maker.add("together", 2, seed, make_result(1000 * speed, 0, 0.9), batch);
    }
  EXPECT_EQ(batch_range_text(compare_rows(maker.run)),
            "By samples/s, several devices are faster than one at batch 512; it is undecided whether several devices are faster at batch 256; "
            "no gain is seen, but none is ruled out, at batch 128; "
            "several devices are slower at batch 64");
}

TEST(Advice, FollowsTheAnswer) {
  const auto advice = [](double speed) {
    const auto run = run_at({{128, speed}});
    return advice_text(compare_rows(run));
  };
  EXPECT_EQ(advice(1.6), "What to do: use together on 2 CPU cores, batch 128, for 1.25 [1.25 .. 1.25] times the device-seconds of one device");
  EXPECT_EQ(advice(0.8), "What to do: stay with alone on 1 CPU core, batch 128");
  EXPECT_THAT(advice(1.01), StartsWith("What to do: stay with alone on 1 CPU core, batch 128, unless"));
}

TEST(Advice, OfAnUnconfirmedGainIsToRepeat) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 0, 0.9));
  maker.add("together", 2, 1, make_result(1600, 0, 0.9));
  EXPECT_THAT(closing_summary(maker.run, {}), HasSubstr("\nWhat to do: repeat more before choosing (run --until-decided)\n"));
}

TEST(BestRows, HaveTheSettingsOfTheBestOfEachNumberOfDevices) {
  const auto run = run_at({{128, 0.8}, {512, 1.3}});
  const Table table = best_rows_table(compare_rows(run));
  ASSERT_EQ(table.lines.size(), 2u);
  EXPECT_EQ(table.lines[0][0], "cpu:1");
  EXPECT_THAT(table.lines[1],
              ElementsAre("cpu:2", "together", "512", HasSubstr("1,3"), HasSubstr("0.9000"), "0.05\n(constant)", HasSubstr("1.30"), HasSubstr("65 %")));
}

TEST(BestRows, OfOneNumberOfDevicesAreNoTable) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 0, 0.9));
  EXPECT_TRUE(best_rows_table(compare_rows(maker.run)).lines.empty());
}

TEST(Headline, NamesAllStrategiesThatSendTheSame) {
  RunMaker maker;
  maker.baseline(1, make_result(1000, 0, 0.9));
  for (const char* name : {"together", "torch ddp"}) maker.add(name, 2, 1, make_result(1600, 0, 0.9));
  EXPECT_EQ(bytes_headline(compare_rows(maker.run)), "1.72 MB at most, by together and torch ddp");
  maker.add("rough", 2, 1, make_result(1600, 0, 0.9)).result.bytes_per_step = 1e5;
  EXPECT_EQ(bytes_headline(compare_rows(maker.run)), "from 100.0 kB by rough to 1.72 MB by together and torch ddp");
}

TEST(Headline, SaysWhatAChartShows) {
  const auto run = three_by_three();
  const Comparison comparison = compare_rows(run);
  EXPECT_EQ(speed_up_headline(comparison), "1.60x at best, by together on 2 CPU cores, batch 128");
  EXPECT_EQ(efficiency_headline(comparison), "80 % at best on 2 CPU cores, by together");
  EXPECT_EQ(target_headline(comparison), "together on 2 CPU cores, batch 128 is first by the median, after 4.95 s");
  EXPECT_EQ(accuracy_headline(comparison), "0.9840 to 0.9850 after the last epoch");
}

}  // namespace
}  // namespace mgcompare
