// A/A test: one strategy under two names must not be told apart. tests/golden/same_twice.csv holds the samples/s of
// `serial` and `serial` in 200 shuffled blocks on two busy cores of a shared machine (LeNet, ten steps of 128).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
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

// Number of decided comparisons out of 200, with `repeats` blocks a side; `factor` speeds up the other side.
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

// Shows that the test can fail: a real difference must be found with the power that theory predicts. The effect is a
// factor f of 2, the noise is that of the recording, n is the number of repeats a side. In units of the median, all
// recorded repeats lie in [s, u], few of them far below. The slower side is then in [s, u], and the faster one in
// [f l, f u] if none of its n repeats is below l.
//
// By ranges (n < 9) the pair is decided if the gap f l - u is at least a third of either width:
// f l - u >= (f u - f l) / 3 and f l - u >= (u - s) / 3. If q is the share of repeats below such an l, the power is at
// least (1 - q)^n.
//
// By ranks (n >= 9) a repeat of the faster side counts against it only below the slower side's maximum, so below u / f,
// and then adds at most n to U. With k = floor(U* / n) such repeats the test still decides, where U* is the largest U at
// 5 % (two-sided) in Mann and Whitney's table: 17, 23 and 127 for 9, 10 and 20 a side. The power is the probability of k
// or fewer.
//
// The limit is three standard deviations of a binomial count below the power.
struct Noise {
  double median = 0, least = 0, most = 0;  // least and most in units of the median
  std::vector<double> other;               // the side that is sped up, in the same units
  double share_below(double limit) const {
    return static_cast<double>(std::count_if(other.begin(), other.end(), [&](double value) { return value < limit; })) /
           static_cast<double>(other.size());
  }
};

Noise noise_of(const Recorded& all) {
  std::vector<double> both = all.one;
  both.insert(both.end(), all.other.begin(), all.other.end());
  const Spread spread = spread_of(both);
  Noise noise{spread.median, spread.least / spread.median, spread.most / spread.median, all.other};
  for (double& value : noise.other) value /= spread.median;
  return noise;
}

double chance_of_at_most(std::size_t most, std::size_t n, double share) {
  double chance = 0, ways = 1;
  for (std::size_t k = 0; k <= most; ++k) {
    chance += ways * std::pow(share, static_cast<double>(k)) * std::pow(1 - share, static_cast<double>(n - k));
    ways *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  return chance;
}

constexpr double kEffect = 2;

double expected_power(const Noise& noise, std::size_t repeats) {
  const double f = kEffect, u = noise.most, s = noise.least;
  const std::map<std::size_t, std::size_t> critical = {{9, 17}, {10, 23}, {20, 127}};
  if (const auto known = critical.find(repeats); known != critical.end())
    return chance_of_at_most(known->second / repeats, repeats, noise.share_below(u / f));
  const double l = std::max((u + f * u / 3) / (f + f / 3), (u + (u - s) / 3) / f);
  return chance_of_at_most(0, repeats, noise.share_below(l));
}

TEST_P(SameTwice, ARealDifferenceIsFound) {
  const Recorded all = recorded();
  const double power = expected_power(noise_of(all), GetParam());
  ASSERT_GT(power, 0.8) << "the recording is too noisy for this test to say anything";
  const double sigma = std::sqrt(power * (1 - power) * kComparisons);
  EXPECT_GE(static_cast<double>(decided(all, GetParam(), kEffect)), power * kComparisons - 3 * sigma);
}

INSTANTIATE_TEST_SUITE_P(Repeats, SameTwice, testing::Values(3, 4, 5, 8, 9, 10, 20));

}  // namespace
}  // namespace mgcompare
