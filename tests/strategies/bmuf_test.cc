#include <gtest/gtest.h>

#include "puppet.h"
#include "check/reference.h"
#include "modules/strategy_probe.h"
#include "rows.h"

namespace mgcompare::testing {
namespace {

constexpr std::size_t kPeriod = 5;

Play block_of(const std::string& variant, std::size_t ranks, std::size_t blocks, const Slope& slope) {
  Play play;
  play.plugin = "bmuf";
  play.options = {option("variant", variant), option("period", std::to_string(kPeriod))};
  play.ranks = ranks;
  play.steps = kPeriod * blocks;
  play.slope = slope;
  return play;
}

// With a constant gradient, each block finally moves the model by zeta G / (1 - eta), which is ranks times G. CNTK's
// variant also adds the look-ahead to the model.
TEST(Bmuf, AConstantGradientMovesItByTheGeometricSum) {
  for (const std::size_t ranks : {2u, 4u, 8u})
    for (const std::string variant : {"cbm", "nbm", "nbm_cntk"}) {
      const std::size_t blocks = 120;
      const Played played =
          play(block_of(variant, ranks, blocks, [](const Batch&, std::size_t element, float) { return 1.0f + static_cast<float>(element); }), true);
      const double eta = 1 - 1.0 / static_cast<double>(ranks);
      for (std::size_t element = 0; element < 3; ++element) {
        const double block = -0.1 * kPeriod * static_cast<double>(1 + element);
        const double expected = block / (1 - eta) * (variant == "nbm_cntk" ? 1 + eta : 1);
        const auto& settled = played.settled[0];
        const double moved = static_cast<double>(settled[kPeriod * blocks - 1][element]) - static_cast<double>(settled[kPeriod * (blocks - 1) - 1][element]);
        EXPECT_NEAR(moved, expected, 2e-3 * std::abs(expected)) << ranks << " " << variant;
      }
    }
}

// The paper's recurrences in double precision, on a quadratic whose minimum differs between ranks.
TEST(Bmuf, FollowsTheRecurrencesOfThePaperAndOfCntk) {
  constexpr double kRate = 0.1, kZeta = 0.8, kEta = 0.6;
  const std::size_t ranks = 3, blocks = 8;
  for (const std::string variant : {"cbm", "nbm", "nbm_cntk"}) {
    Play given = block_of(variant, ranks, blocks, {});
    given.global_batch = 7;  // shares of 2, 2 and 3
    given.first_weight = 1;
    given.options.push_back(option("eta", "0.6"));
    given.options.push_back(option("zeta", "0.8"));
    given.slope = [&](const Batch& batch, std::size_t, float weight) {
      const std::size_t rank = batch.begin() - batch.whole().begin();  // shares begin at 0, 2, 4
      return weight - static_cast<float>(rank);
    };
    const Played played = play(given, true);

    double model = 1, begin = 1, filtered = 0;
    for (std::size_t block = 0; block < blocks; ++block) {
      double mean = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        double weight = begin;
        for (std::size_t step = 0; step < kPeriod; ++step) weight -= kRate * (weight - 2.0 * static_cast<double>(rank));
        mean += weight * (rank == 2 ? 3.0 / 7 : 2.0 / 7);
      }
      filtered = kEta * filtered + kZeta * (mean - begin);
      if (variant == "nbm_cntk") model = begin = begin + filtered + kEta * filtered;
      else model += filtered, begin = variant == "cbm" ? model : model + kEta * filtered;
      const std::size_t made = (block + 1) * kPeriod;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        EXPECT_NEAR(played.settled[rank][made - 1][0], model, 1e-5) << variant << " block " << block;
        EXPECT_NEAR(played.weights[rank][made][0], begin, 1e-5) << variant << " block " << block;
        EXPECT_EQ(played.weights[rank][made], played.weights[0][made]) << "all ranks begin a block alike";
      }
    }
  }
}

TEST(Bmuf, AloneItIsPlainTraining) {
  const std::vector<float> plain = run(small_trial(1), [](Options&, const Facts&) { return make_reference(1); }).weights[0];
  EXPECT_EQ(run(small_trial(1, "bmuf")).weights[0], plain);
  EXPECT_EQ(run(small_trial(1, "bmuf", {option("eta", "0")})).weights[0], plain);
  EXPECT_NE(run(small_trial(1, "bmuf", {option("eta", "0.5"), option("period", "4")})).weights[0], plain) << "one rank's updates can be filtered too";
}

TEST(Bmuf, SettlingInABlockChangesNothing) {
  const Slope bowl = [](const Batch& batch, std::size_t element, float weight) {
    return weight - static_cast<float>(batch.begin() % 5 + element);
  };
  for (const std::string variant : {"cbm", "nbm", "nbm_cntk"}) {
    const Played often = play(block_of(variant, 3, 3, bowl), true), once = play(block_of(variant, 3, 3, bowl));
    EXPECT_EQ(often.weights, once.weights) << variant;
    for (const auto& settled : often.settled) EXPECT_EQ(settled, often.settled[0]) << "all ranks settle alike";
  }
}

TEST(Bmuf, BytesAreOneAllReduceABlock) {
  Trial trial = small_trial(4, "bmuf", {option("period", "5")});
  const Result result = run(trial).result;  // 30 steps
  EXPECT_NEAR(result.bytes_per_step, 2.0 * 3 / 4 * 4 * static_cast<double>(result.parameters) / 5, 1);
  for (const auto& metrics : result.metrics) EXPECT_GT(metrics.at("drift").last, 0);
}

std::vector<OptionProblem> ask(const std::vector<OptionConfig>& given, int ranks, std::size_t steps) {
  ProbeQuestion question;
  question.plugin_file = file_of_plugin("bmuf");
  question.strategy = {"bmuf", "bmuf", given, {}};
  question.facts.ranks = ranks;
  question.facts.steps_per_epoch = steps;
  question.facts.epochs = 2;
  question.facts.optimizer = "sgd";
  return probe_strategy(question).problems;
}

TEST(Bmuf, RefusesWhatCannotBeAndWarnsOfTooFewBlocks) {
  EXPECT_EQ(ask({option("eta", "1")}, 2, 100).at(0).text, "must be a number, 0 to 0.9999, or auto, not '1'");
  EXPECT_EQ(ask({option("variant", "nesterov")}, 2, 100).at(0).key, "variant");
  EXPECT_TRUE(ask({option("eta", "auto"), option("period", "10")}, 2, 100).empty());
  const std::vector<OptionProblem> few = ask({option("period", "10")}, 8, 100);
  ASSERT_EQ(few.size(), 1u);
  EXPECT_TRUE(few[0].warning);
  EXPECT_NE(few[0].text.find("640"), std::string::npos) << few[0].text;
  EXPECT_TRUE(ask({}, 2, 3).empty() || ask({}, 2, 3)[0].warning) << "the default fits any epoch";
}

}  // namespace
}  // namespace mgcompare::testing
