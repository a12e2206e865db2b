// A busy machine must not make a strategy look faster than itself.

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "reports/statistics.h"
#include "rig.h"

namespace mgcompare {
namespace {

constexpr int kRuns = 50;

// Keeps every core busy.
class Spinners {
 public:
  Spinners() {
    for (unsigned k = 0; k < std::max(1u, std::thread::hardware_concurrency()); ++k)
      threads_.emplace_back([this](std::stop_token stop) {
        while (!stop.stop_requested()) ++turns_;
      });
  }

 private:
  std::atomic<std::uint64_t> turns_ = 0;
  std::vector<std::jthread> threads_;
};

class LongNoise : public CommandTest {
 protected:
  // samples/s of the trials with this label; those of `factor` times as many for a strategy that is really faster.
  static std::vector<double> rates(const mgcompare::Run& run, const std::string& label, double factor = 1) {
    std::vector<double> all;
    for (const Row& row : run.rows)
      if (row.trial.strategy.label == label && row.trial.bracket == 0) all.push_back(factor * row.result.samples_per_second);
    return all;
  }
};

// Eight repeats a side: by chance alone, the ranges of equal rows are apart in one of 6,435 comparisons. Trials of some
// milliseconds would differ by more than a factor of four, depending on whether another program ran meanwhile.
TEST_F(LongNoise, OneStrategyUnderTwoNamesIsNeverFasterOnABusyMachine) {
  const Spinners spinners;
  const std::string config = place_.write(
      "same.yaml", small_config("scaling: {devices: [cpu:1], batch: 32}\nseeds: [1, 2, 3, 4, 5, 6, 7, 8]\n"
                                "strategies: [{serial: {as: one}}, {serial: {as: other}}]\n"));
  int faster = 0, found = 0;
  for (int k = 0; k < kRuns; ++k) {
    const std::string folder = "run" + std::to_string(k);
    const Ended ended = place_.run({config, "-o", folder, "--set", "epochs=100"});
    ASSERT_EQ(ended.code, 0) << ended.err;
    const mgcompare::Run run = read_run((place_.folder() / folder).string());
    ASSERT_EQ(rates(run, "one").size(), 8u);
    faster += compare(spread_of(rates(run, "one")), spread_of(rates(run, "other"))) != Order::undecided ? 1 : 0;
    found += compare(spread_of(rates(run, "one")), spread_of(rates(run, "other", 10))) != Order::undecided ? 1 : 0;
  }
  EXPECT_EQ(faster, 0);
  EXPECT_GT(found, kRuns / 2) << "a row that is ten times as fast must still be found";
}

}  // namespace
}  // namespace mgcompare
