// The A/A test: one strategy under two names must not be told apart. tests/golden/same_twice.csv holds the samples/s of
// `serial` and `serial` in 200 shuffled blocks on two busy cores of a shared machine (LeNet, ten steps of 128).

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "reports/statistics.h"

namespace mgcompare {
namespace {

struct Recorded {
  std::vector<double> one, other;
};

Recorded recorded() {
  std::ifstream file(MGCOMPARE_SOURCE_DIR "/tests/golden/same_twice.csv");
  Recorded all;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    double one = 0, other = 0;
    char comma = 0;
    if (std::istringstream(line) >> one >> comma >> other) all.one.push_back(one), all.other.push_back(other);
  }
  return all;
}

constexpr std::size_t kComparisons = 200;

// How many of 200 comparisons of `repeats` blocks a side are decided; `factor` makes the other side faster.
std::size_t decided(const Recorded& all, std::size_t repeats, double factor) {
  std::mt19937 random(7);
  std::size_t count = 0;
  for (std::size_t k = 0; k < kComparisons; ++k) {
    std::vector<double> one, other;
    for (std::size_t i = 0; i < repeats; ++i) {
      one.push_back(all.one[random() % all.one.size()]);
      other.push_back(factor * all.other[random() % all.other.size()]);
    }
    count += compare(spread_of(one), spread_of(other)) != Order::undecided ? 1 : 0;
  }
  return count;
}

class SameTwice : public testing::TestWithParam<std::size_t> {};

TEST_P(SameTwice, IsRarelyToldApart) {
  const Recorded all = recorded();
  ASSERT_GE(all.one.size(), 150u);
  const double sigma = std::sqrt(0.05 * 0.95 * kComparisons);
  EXPECT_LE(static_cast<double>(decided(all, GetParam(), 1)), 0.05 * kComparisons + 3 * sigma);
}

// The test must be able to fail: a difference that is there is found, but for sides with one of the recording's slow
// outliers in them, which few repeats cannot tell from the rule.
TEST_P(SameTwice, ARealDifferenceIsFound) {
  EXPECT_GE(decided(recorded(), GetParam(), 2), kComparisons * 4 / 5);
}

INSTANTIATE_TEST_SUITE_P(Repeats, SameTwice, testing::Values(3, 4, 5, 8, 9, 10, 20));

}  // namespace
}  // namespace mgcompare
