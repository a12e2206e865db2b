// Common properties of the strategies whose ranks make local steps between two averagings.

#include <gtest/gtest.h>

#include "modules/strategy_probe.h"
#include "puppet.h"
#include "rows.h"

namespace mgcompare::testing {
namespace {

// Only with options that all of them have: BMUF without its block filter is plain averaging.
std::vector<OptionConfig> options_of(const std::string& plugin, std::size_t period) {
  const std::string steps = std::to_string(period);
  if (plugin == "tower") return {option("average", "parameters"), option("every", steps)};
  if (plugin == "local_sgd") return {option("every", steps)};
  return {option("period", steps), option("eta", "0"), option("reset_momentum", "false")};
}

class LocalSteps : public ::testing::TestWithParam<std::string> {
 protected:
  Play play_of(std::size_t period) const {
    Play given;
    given.plugin = GetParam();
    given.options = options_of(given.plugin, period);
    return given;
  }
};

TEST_P(LocalSteps, AreWeighedByTheSamplesOfThePeriod) {
  Play given = play_of(2);
  given.steps = 2;
  given.global_batch = 5;  // shares of 2 and 3
  given.slope = [](const Batch& batch, std::size_t, float) { return batch.size() == 2 ? -10.0f : 0.0f; };
  const Played played = play(given);
  EXPECT_NEAR(played.weights[0][2][0], 2 * 2.0 / 5, 1e-6);  // rank 0 is at 2, rank 1 at 0
  EXPECT_EQ(played.weights[0][2], played.weights[1][2]);
  EXPECT_NEAR(played.metrics[0].at("drift"), (2 - 0.8) / 0.8, 1e-5);
  EXPECT_NEAR(played.metrics[1].at("drift"), (0.8 - 0) / 0.8, 1e-5);
}

TEST_P(LocalSteps, SettlingAmongThemChangesNothing) {
  Play given = play_of(3);
  given.ranks = 3;
  given.momentum = 0.9;
  given.slope = [](const Batch& batch, std::size_t element, float weight) { return weight - static_cast<float>(batch.begin() % 5 + element); };
  const Played often = play(given, true);
  EXPECT_EQ(often.weights, play(given).weights);
  for (const auto& settled : often.settled) EXPECT_EQ(settled, often.settled[0]) << "all ranks settle alike";
  // Right after an averaging they settle on the weights that they train; before one, on a mean of their copies.
  EXPECT_EQ(often.settled[0][2], often.weights[0][3]);
  EXPECT_NE(often.settled[0][1], often.weights[0][2]);
}

TEST_P(LocalSteps, OnTheSameSamplesAreOneRanksTraining) {
  Play given = play_of(1);
  given.steps = 13;
  given.momentum = 0.9;
  given.first_weight = 2;
  given.slope = [](const Batch& batch, std::size_t element, float weight) { return weight - static_cast<float>(element) + 0.1f * static_cast<float>(batch.step()); };
  given.ranks = 1;
  const Played alone = play(given);
  for (const std::size_t ranks : {2u, 4u})
    for (const std::size_t period : {1u, 3u, 13u}) {
      given.ranks = ranks;
      given.options = options_of(given.plugin, period);
      EXPECT_EQ(play(given).weights[0], alone.weights[0]) << ranks << " " << period;
    }
}

TEST_P(LocalSteps, ResumeInTheMiddleOfAPeriod) {
  Trial trial = small_trial(3, GetParam(), options_of(GetParam(), 4));  // 15 steps per epoch: three remain
  trial.config.epochs = 3;
  trial.config.checkpoint_epochs = 1;
  expect_resumable(trial);
}

TEST_P(LocalSteps, APeriodLongerThanTheEpochIsRefused) {
  ProbeQuestion question;
  question.plugin_file = file_of_plugin(GetParam());
  question.strategy = {GetParam(), GetParam(), options_of(GetParam(), 16), {}};
  question.facts.ranks = 2;
  question.facts.steps_per_epoch = 15;
  question.facts.epochs = 100;
  const std::vector<OptionProblem> problems = probe_strategy(question).problems;
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].key, GetParam() == "bmuf" ? "period" : "every");
  EXPECT_EQ(problems[0].text, "is longer than the epoch of 15 steps: at most 15");
  EXPECT_FALSE(problems[0].warning);
}

INSTANTIATE_TEST_SUITE_P(All, LocalSteps, ::testing::Values("tower", "local_sgd", "bmuf"),
                         [](const auto& info) { return info.param; });

// With batches of 7 some of eight ranks have no sample.
TEST(LocalStepsOf, HostDevicesAndBlocksWithoutAFilterHaveTheSameMean) {
  for (const std::size_t ranks : {2u, 3u, 4u, 8u})
    for (const auto& [period, batch] : {std::pair{1u, 50u}, std::pair{4u, 50u}, std::pair{15u, 50u}, std::pair{4u, 7u}}) {
      const auto of = [&, ranks = ranks, period = period, batch = batch](const std::string& plugin, std::vector<OptionConfig> more = {}) {
        std::vector<OptionConfig> options = options_of(plugin, period);
        for (const OptionConfig& each : more) {
          std::erase_if(options, [&](const OptionConfig& given) { return given.key == each.key; });
          options.push_back(each);
        }
        Trial trial = small_trial(ranks, plugin, options);
        trial.global_batch = batch;
        if (batch == 7) trial.config.epochs = 1;
        return run(trial);
      };
      const std::string what = std::to_string(ranks) + " ranks, every " + std::to_string(period) + " of " + std::to_string(batch);
      // tower averages momentum too; bmuf keeps it on each rank or resets it.
      const TrainingOutcome averaged = of("local_sgd"), host = of("tower");
      EXPECT_EQ(averaged.weights, host.weights) << what;
      // tower records the drift at the last averaging of an epoch; here there is only one.
      if (period == 15) {
        const double drift = host.result.metrics[0].at("drift").last;
        EXPECT_NEAR(averaged.result.metrics[0].at("drift").last, drift, 1e-9 * drift);
      }
      if (period != 4) continue;
      for (const bool reset : {false, true}) {
        const TrainingOutcome copies = of("local_sgd", {option("momentum", reset ? "reset" : "local")});
        for (const char* variant : {"cbm", "nbm", "nbm_cntk"}) {
          const TrainingOutcome blocks = of("bmuf", {option("variant", variant), option("reset_momentum", reset ? "true" : "false")});
          EXPECT_EQ(blocks.weights, copies.weights) << what << " " << variant << " " << reset;
          EXPECT_EQ(blocks.result.updates, copies.result.updates);
        }
      }
    }
}

}  // namespace
}  // namespace mgcompare::testing
