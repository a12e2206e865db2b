// Lies that are told in real time only. Most trainings of a verification are in virtual time, and a strategy can know which it is.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "check/marked_samples.h"
#include "strategy_plugins.h"
#include "verified.h"

namespace mgcompare {
namespace {

using ::testing::HasSubstr;
using testing::ServerLie, testing::Verified, testing::config_with, testing::failures, testing::verify_faulty, testing::verify_in;
using Verdict = VerifyFinding::Verdict;

constexpr char kDepends[] = "in real time, the model depends on every rank's samples";

TEST(VerifyRealTime, DroppedGradientsFail) {
  const ServerLie lie("drops in real time");
  EXPECT_THAT(failures(verify_faulty("server", {})), HasSubstr("in real time, applied gradients equal computed gradients"));
}

TEST(VerifyRealTime, NoiseThatTheNextGradientTakesBackFails) {
  const ServerLie lie("takes noise back");
  const std::string found = failures(verify_faulty("server", {}));
  EXPECT_THAT(found, HasSubstr("3 ranks: each update applies a gradient as it was computed: relative gap of the squares"));
  EXPECT_THAT(found, HasSubstr("in real time, each update applies a gradient as it was computed"));
}

TEST(VerifyRealTime, GradientsThatAreScaledAsTheyBecomeReadyFail) {
  const ServerLie lie("scales slices");
  EXPECT_THAT(failures(verify_faulty("server", {})), HasSubstr("3 ranks: applied gradients equal computed gradients"));
}

class VerifyApart : public ::testing::TestWithParam<const char*> {};

TEST_P(VerifyApart, InRealTimeOnlyFails) {
  const Verified verified = verify_faulty("elastic", {{"how", GetParam(), false, {}}});
  EXPECT_THAT(failures(verified), HasSubstr(kDepends));
  for (const VerifyFinding& finding : verified.findings) EXPECT_TRUE(finding.verdict != Verdict::failed || finding.check == kDepends) << finding.check << ": " << finding.figure;
}

class LongVerifyApart : public VerifyApart {};

TEST_P(LongVerifyApart, InRealTimeOnlyFailsWhateverTheSeed) {
  for (std::uint64_t seed = 2; seed <= 9; ++seed)
    EXPECT_THAT(failures(verify_faulty("elastic", {{"how", GetParam(), false, {}}}, {"sgd", "adam"}, seed)), HasSubstr(kDepends)) << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(All, VerifyApart, ::testing::Values("apart", "apart later", "noise"));
INSTANTIATE_TEST_SUITE_P(All, LongVerifyApart, ::testing::Values("apart", "apart later", "noise"));

void expect_honest_passes(std::uint64_t seed) {
  const Verified verified = verify_faulty("elastic", {}, {"sgd", "adam"}, seed);
  EXPECT_TRUE(verified.passed) << "seed " << seed << "\n" << failures(verified);
  EXPECT_EQ(std::count_if(verified.findings.begin(), verified.findings.end(),
                          [](const VerifyFinding& finding) { return finding.check == kDepends && finding.verdict == Verdict::passed; }),
            2) << "one for each optimiser";
}

TEST(VerifyRealTime, HonestAveragingPasses) { expect_honest_passes(1); }

TEST(LongVerifyRealTime, HonestAveragingPassesWhateverTheSeed) {
  for (std::uint64_t seed = 2; seed <= 21; ++seed) expect_honest_passes(seed);
}

// Most ranks, and fewest samples for each.
TEST(VerifyRealTime, SixteenRanksPass) {
  VerifyScope scope = quick_scope();
  scope.plugins = testing::strategy_plugins();
  scope.ranks = {16};
  scope.optimizers = {"sgd"};
  const Verified verified = verify_in(scope, config_with(testing::small_model(), {{"easgd", "easgd", {}, {}}}));
  EXPECT_TRUE(verified.passed) << failures(verified);
}

TEST(MarkedSamples, ShowInTheirOwnWeightsOnly) {
  const MarkedSamples marks(2, 71, 1);
  ASSERT_EQ(marks.judged_parts(), 6u);
  std::vector<float> weights = marks.initial_weights();
  EXPECT_EQ(marks.learned(weights, 0) + marks.learned(weights, 1) + marks.learned(weights, 2), 0) << "it begins with zeros";
  weights[10] = 2;                  // of the fourth part of rank 1: each rank has seven
  EXPECT_EQ(marks.learned(weights, 1, 3), 4);
  EXPECT_EQ(marks.learned(weights, 1), 4);
  EXPECT_EQ(marks.learned(weights, 0) + marks.learned(weights, 2), 0);
  EXPECT_EQ(marks.part(1, 7), 3u);
  EXPECT_EQ(marks.part(5, 0), 6u) << "late epochs are not told apart";
}

TEST(MarkedSamples, AreEnoughForManyRanks) {
  for (const std::size_t ranks : {2, 8, 16}) {
    const MarkedSamples marks(ranks, 71, 1);
    EXPECT_GE(marks.judged_parts(), 2u) << ranks << " ranks";
    EXPECT_LT(marks.order(ranks - 1, marks.judged_parts()).front(), 71u) << ranks << " ranks";
  }
}

}  // namespace
}  // namespace mgcompare
