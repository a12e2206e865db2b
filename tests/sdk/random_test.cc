#include "mgcompare/random.h"

#include <gtest/gtest.h>

#include <vector>

namespace mgcompare {
namespace {

// Known answers of Philox4x32-10 from the authors' reference (Random123, kat_vectors).
TEST(Random, AgreesWithThePublishedVectors) {
  const Random::Block zero = Random(0, 0).block(0);
  EXPECT_EQ(zero.words[0], 0x6627e8d5u);
  EXPECT_EQ(zero.words[1], 0xe169c58du);
  EXPECT_EQ(zero.words[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.words[3], 0x9b00dbd8u);
  const Random::Block ones = Random(~0ull, ~0ull).block(~0ull);
  EXPECT_EQ(ones.words[0], 0x408f276du);
  EXPECT_EQ(ones.words[1], 0x41c83b0eu);
  EXPECT_EQ(ones.words[2], 0xa20bc7c6u);
  EXPECT_EQ(ones.words[3], 0x6d5451fdu);
}

TEST(Random, StreamsAndSeedsDiffer) {
  EXPECT_NE(Random(1, 0).word(5), Random(2, 0).word(5));
  EXPECT_NE(Random(1, 0).word(5), Random(1, 1).word(5));
  EXPECT_EQ(Random(1, 7).word(5), Random(1, 7).word(5));
}

TEST(Random, UniformAndNormalHaveTheirMoments) {
  const Random random(42, 3);
  constexpr int kCount = 100000;
  double uniform = 0, normal = 0, squares = 0;
  for (int i = 0; i < kCount; ++i) {
    const float u = random.uniform(static_cast<std::uint64_t>(i));
    ASSERT_GE(u, 0.0f);
    ASSERT_LT(u, 1.0f);
    uniform += static_cast<double>(u);
    const double z = random.normal(static_cast<std::uint64_t>(i));
    normal += z;
    squares += z * z;
  }
  EXPECT_NEAR(uniform / kCount, 0.5, 0.005);
  EXPECT_NEAR(normal / kCount, 0.0, 0.015);
  EXPECT_NEAR(squares / kCount, 1.0, 0.02);
}

TEST(Random, BelowStaysBelowAndReachesEveryValue) {
  std::vector<int> seen(7);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t value = Random(9, 9).below(i, seen.size());
    ASSERT_LT(value, seen.size());
    ++seen[value];
  }
  for (const int times : seen) EXPECT_GT(times, 90);
}

}  // namespace
}  // namespace mgcompare
