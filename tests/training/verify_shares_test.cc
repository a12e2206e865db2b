// Lies about single samples, learning rates and numbers of ranks, and honest sums in any order.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "verified.h"

namespace mgcompare {
namespace {

using ::testing::ContainsRegex, ::testing::HasSubstr;
using testing::ServerLie, testing::Verified, testing::failures, testing::verify_faulty;

class VerifyRates : public ::testing::TestWithParam<const char*> {};

TEST_P(VerifyRates, WrongOnesFail) {
  const ServerLie lie(GetParam());
  EXPECT_THAT(failures(verify_faulty("server", {})), HasSubstr("gradients are applied at the learning rate of their step, or less if they are stale"));
}

INSTANTIATE_TEST_SUITE_P(All, VerifyRates, ::testing::Values("larger", "zero", "small for others"));

TEST(VerifyRates, LowerOnesForStaleGradientsPass) {
  const Verified verified = verify_faulty("server", {});
  EXPECT_TRUE(verified.passed) << failures(verified);
}

class VerifyHalf : public ::testing::TestWithParam<const char*> {};

TEST_P(VerifyHalf, OfAShareIsNotEnough) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    EXPECT_THAT(failures(verify_faulty("shares", {{"how", GetParam(), false, {}}}, {"sgd", "adam"}, seed)),
                HasSubstr("the model depends on every rank's samples"))
        << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(All, VerifyHalf, ::testing::Values("first half", "last half"));

TEST(VerifyCeiling, ExchangesNothing) {
  EXPECT_THAT(failures(verify_faulty("shares", {{"how", "ceiling", false, {}}})), HasSubstr("the ceiling exchanges nothing"));
}

TEST(VerifyAlteration, IsOfTheFirstAndOfTheLastSampleOfEachRank) {
  for (VerifyScope scope : {VerifyScope(), quick_scope()})
    for (scope.seed = 1; scope.seed <= 10; ++scope.seed)
      for (const int ranks : {2, 3, 4, 8}) {
        std::map<int, std::set<double>> places;
        for (const std::string& optimizer : scope.optimizers) {
          const AlteredTraining of{optimizer, ranks, true, false};
          for (std::size_t i = 0; i < alterations_of(scope, of); ++i) {
            const Alteration alteration = alteration_of(scope, of, i);
            places[alteration.rank].insert(alteration.place);
          }
        }
        ASSERT_EQ(places.size(), static_cast<std::size_t>(ranks));
        for (const auto& [rank, own] : places) EXPECT_EQ(own, (std::set<double>{0, 1})) << "rank " << rank << " of " << ranks << ", seed " << scope.seed;
      }
}

// Also in networks in which no training on one device is a reference for the weights.
TEST(VerifyFitted, SmallExchangesThatAreSkippedFailWithLocalBatchNormalisation) {
  for (const char* in_rank_order : {"false", "true"})
    for (const char* how : {"skips small exchanges", "drops easy samples"})
      EXPECT_THAT(failures(verify_faulty("occasional", {{"how", how, false, {}}, {"in_rank_order", in_rank_order, false, {}}}, {"sgd"}, 1, "local")),
                  ContainsRegex("3 ranks: [^\n]*equals one [^\n]*from weights that fit the samples"))
          << how << ", in rank order: " << in_rank_order;
}

TEST(VerifyFitted, HonestSumsInRankOrderPassWithLocalBatchNormalisation) {
  const Verified verified = verify_faulty("occasional", {{"in_rank_order", "true", false, {}}}, {"sgd", "adam"}, 1, "local");
  EXPECT_TRUE(verified.passed) << failures(verified);
}

Config config_on(const std::vector<std::size_t>& devices, std::size_t ranks_per_device) {
  Config config;
  config.scaling.automatic = devices.empty();
  for (const std::size_t count : devices) config.scaling.devices.push_back({"auto", count, {}});
  config.scaling.ranks_per_device = ranks_per_device;
  return config;
}

TEST(VerifyRanks, AreThoseOfTheConfigToo) {
  const auto all = [](const Config& config) {
    VerifyScope scope;
    add_ranks(scope, config, 6, false);
    EXPECT_TRUE(scope.first_ranks.empty());
    return scope.ranks;
  };
  EXPECT_EQ(all(config_on({1, 2}, 3)), (std::vector<int>{2, 3, 4, 8, 6}));
  EXPECT_EQ(all(config_on({1, 5, 16, 17}, 1)), (std::vector<int>{2, 3, 4, 8, 5, 16}));
  EXPECT_EQ(all(config_on({std::size_t{1} << 40}, 1)), (std::vector<int>{2, 3, 4, 8}));
  EXPECT_EQ(all(config_on({}, 1)), (std::vector<int>{2, 3, 4, 8, 6})) << "one, two, four and all devices";
  Config config = config_on({2}, 1);
  config.variants.push_back({"more", {}, {}, std::make_shared<const Config>(config_on({7}, 2))});
  EXPECT_EQ(all(config), (std::vector<int>{2, 3, 4, 8, 14}));
}

TEST(VerifyRanks, OfTheConfigAreBriefInTheQuickScope) {
  VerifyScope scope = quick_scope();
  add_ranks(scope, config_on({1, 2, 3}, 2), 1, true);
  EXPECT_EQ(scope.ranks, (std::vector<int>{3}));
  EXPECT_EQ(scope.first_ranks, (std::vector<int>{2, 4, 6}));
  scope.first_ranks.clear();
  add_ranks(scope, config_on({}, 1), 6, true);
  EXPECT_EQ(scope.first_ranks, (std::vector<int>{6}));
}

TEST(VerifyRanks, OfTheConfigOnlyAreChecked) {
  VerifyScope scope = quick_scope();
  scope.plugins = {testing::faulty_plugin("shares")};
  Config config = testing::config_with(testing::small_model(), {{"shares", "the row", {{"how", "five of six", false, {}}}, {}}});
  EXPECT_TRUE(testing::verify_in(scope, config).passed);
  config.scaling = config_on({2}, 3).scaling;
  add_ranks(scope, config, 2, true);
  EXPECT_THAT(failures(testing::verify_in(scope, config)), HasSubstr("6 ranks: equals one device on the global batch"));
}

// Only strategies that promise sums in rank order promise the same bits.
TEST(VerifyOrder, SumsInAnyOrderPass) {
  for (const char* batch_norm : {"", "local", "sync"}) {
    const Verified verified = verify_faulty("shares", {}, {"sgd", "adam"}, 1, batch_norm);
    EXPECT_TRUE(verified.passed) << batch_norm << "\n" << failures(verified);
  }
}

}  // namespace
}  // namespace mgcompare
