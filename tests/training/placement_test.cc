// What a rank keeps and sends, derived from the calls that its strategy made.

#include "results/placement.h"

#include <gtest/gtest.h>

#include "fixture.h"

namespace mgcompare {
namespace {

using testing::run;
using testing::small_trial;

std::uint64_t kept(const RankPlacement& rank, const std::string& what, const std::string& where) {
  for (const Kept& each : rank.kept)
    if (each.what == what && each.where == where) return each.bytes;
  return 0;
}

const Sent* sent(const RankPlacement& rank, const std::string& call) {
  for (const Sent& each : rank.sent)
    if (each.call == call) return &each;
  return nullptr;
}

TEST(Placement, ReplicatedKeepsEverythingOnItsDevicesAndSumsTheGradient) {
  const Result result = run(small_trial(3, "replicated")).result;
  ASSERT_EQ(result.placement.size(), 3u);
  for (const RankPlacement& rank : result.placement) {
    EXPECT_EQ(rank.device, "cpu:0");
    EXPECT_EQ(kept(rank, "weights and gradients", "cpu:0"), 8 * result.parameters);
    EXPECT_EQ(kept(rank, "optimiser state", "cpu:0"), 4 * result.parameters);
    EXPECT_EQ(kept(rank, "arrays of the strategy", "host"), 0u);
    const Sent* sum = sent(rank, "all_reduce");
    ASSERT_NE(sum, nullptr);
    EXPECT_NEAR(sum->bytes, result.bytes_per_step, 1);
    EXPECT_EQ(sum->over, "the device's own memory") << "these ranks share one";
    EXPECT_EQ(rank.sent.size(), 1u);
  }
}

TEST(Placement, TowerKeepsAMasterCopyOnTheHost) {
  const Result result = run(small_trial(2, "tower")).result;
  ASSERT_EQ(result.placement.size(), 2u);
  EXPECT_GE(kept(result.placement[0], "arrays of the strategy", "host"), 4 * result.parameters);
  EXPECT_EQ(kept(result.placement[0], "state of the strategy's optimisers", "host"), 4 * result.parameters);
  EXPECT_EQ(kept(result.placement[0], "optimiser state", "cpu:0"), 0u) << "its own optimiser is not used";
  for (const RankPlacement& rank : result.placement) {
    ASSERT_NE(sent(rank, "copy to host"), nullptr);
    EXPECT_EQ(sent(rank, "copy to host")->bytes, 4.0 * static_cast<double>(result.parameters));
    EXPECT_EQ(sent(rank, "all_reduce"), nullptr);
  }
}

TEST(Placement, ALoneRankSendsNothing) {
  const Result result = run(small_trial(1, "serial")).result;
  ASSERT_EQ(result.placement.size(), 1u);
  EXPECT_TRUE(result.placement[0].sent.empty());
  EXPECT_NE(placement_lines(result.placement)[0].find("sends nothing in a step"), std::string::npos);
}

TEST(Placement, RanksThatAreAlikeShareALine) {
  RankPlacement one{
      "cuda:0", {{"weights and gradients", "cuda:0", 8000}}, {{"all_reduce", "the links between devices", 2, 6000}}};
  RankPlacement two = one;
  two.device = two.kept[0].where = "cuda:1";
  const auto lines = placement_lines({one, two});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0],
            "ranks 0 on cuda:0, 1 on cuda:1: weights and gradients (8 kB) on the device; all_reduce 6 kB a step "
            "over the links between devices (2 calls)");
  two.kept[0].where = "host";
  EXPECT_EQ(placement_lines({one, two}).size(), 2u);
}

}  // namespace
}  // namespace mgcompare
