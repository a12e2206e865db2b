#include "data/digits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <string>

#include "data/load.h"

namespace mgcompare {
namespace {

TEST(Digits, HaveTheShapesOfMnist) {
  const Dataset set = draw_digits(1, 600, 100);
  EXPECT_EQ(set.name, "digits");
  EXPECT_EQ(set.spec.classes, 10u);
  EXPECT_EQ(set.train.samples, 600u);
  EXPECT_EQ(set.test.samples, 100u);
  EXPECT_EQ(set.spec.shape, (Shape{1, 28, 28}));
  for (const Split* split : {&set.train, &set.test}) {
    EXPECT_EQ(split->values.size(), split->samples * 784);
    EXPECT_EQ(split->targets.size(), split->samples);
  }
}

TEST(Digits, AreBalanced) {
  const Dataset set = draw_digits(1, 600, 100);
  std::array<int, 10> count{};
  for (const std::uint32_t label : set.train.targets) ++count.at(label);
  for (const int of_class : count) EXPECT_EQ(of_class, 60);
}

TEST(Digits, DependOnTheSeedOnly) {
  const std::string first = fingerprint_of(draw_digits(1, 600, 100));
  EXPECT_EQ(first, fingerprint_of(draw_digits(1, 600, 100)));
  EXPECT_NE(first, fingerprint_of(draw_digits(2, 600, 100)));
  // The bytes must be the same on every machine. Changing them makes results incomparable with those of earlier runs.
  EXPECT_EQ(first, "1d62b6047354632fbb77be1cd40f19e316ee8c5f58dfc29cffedce0e746a510e");
}

TEST(Digits, ASampleDoesNotDependOnHowManyThereAre) {
  const Dataset few = draw_digits(1, 31, 7), many = draw_digits(1, 200, 50);
  EXPECT_TRUE(std::equal(few.train.values.begin(), few.train.values.end(), many.train.values.begin()));
  EXPECT_TRUE(std::equal(few.test.values.begin(), few.test.values.end(), many.test.values.begin()));
}

TEST(Digits, NoTwoAreAlikeAndNoneIsBlank) {
  const Dataset set = draw_digits(1, 300, 300);
  std::set<std::string> pictures;
  for (const Split* split : {&set.train, &set.test}) {
    for (std::size_t i = 0; i < split->samples; ++i) {
      const auto begin = split->values.begin() + static_cast<std::ptrdiff_t>(784 * i);
      EXPECT_TRUE(pictures.emplace(begin, begin + 784).second) << "sample " << i;
      EXPECT_GT(std::accumulate(begin, begin + 784, 0), 255 * 8) << "sample " << i;
    }
  }
}

// A nearest-mean classifier is far better than guessing and far worse than a network, so the digits are neither noise
// nor copies of one template.
TEST(Digits, CanBeLearntButNotByTheirMeans) {
  const Dataset set = draw_digits(1, 4000, 1000);
  std::vector<double> mean(7840);
  for (std::size_t i = 0; i < 4000; ++i) {
    for (std::size_t k = 0; k < 784; ++k) mean[set.train.targets[i] * 784u + k] += set.train.values[i * 784 + k] / 400.0;
  }
  int right = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    std::array<double, 10> distance{};
    for (std::size_t c = 0; c < 10; ++c) {
      for (std::size_t k = 0; k < 784; ++k) {
        const double d = set.test.values[i * 784 + k] - mean[c * 784 + k];
        distance[c] += d * d;
      }
    }
    right += std::min_element(distance.begin(), distance.end()) - distance.begin() == set.test.targets[i];
  }
  EXPECT_GT(right, 400);
  EXPECT_LT(right, 900);
}

}  // namespace
}  // namespace mgcompare
