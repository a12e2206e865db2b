#include "results/weight_sketch.h"

#include <gmock/gmock.h>

#include <cmath>

#include "mgcompare/random.h"

namespace mgcompare {
namespace {

std::vector<float> noise(std::size_t size, std::uint64_t stream, double scale) {
  std::vector<float> values;
  for (std::size_t i = 0; i < size; ++i) values.push_back(static_cast<float>(scale * Random(7, stream).normal(i)));
  return values;
}

double distance(const std::vector<float>& one, const std::vector<float>& other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += std::pow(static_cast<double>(one[i]) - static_cast<double>(other[i]), 2);
  return std::sqrt(sum);
}

TEST(WeightSketch, EstimatesDistancesOfAllSizes) {
  std::size_t good = 0, all = 0;
  for (std::uint64_t trial = 0; trial < 100; ++trial) {
    for (const double scale : {1e-4, 1e-2, 1.0}) {
      const std::vector<float> one = noise(5000, 1000, 1), change = noise(5000, trial, scale);
      std::vector<float> other = one;
      for (std::size_t i = 0; i < other.size(); ++i) other[i] += change[i];
      const double ratio = sketch_distance(sketch_of(one), sketch_of(other)).value() / distance(one, other);
      good += ratio > 0.55 && ratio < 1.45 ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GE(static_cast<double>(good), 0.98 * static_cast<double>(all));
}

TEST(WeightSketch, FindsOneWeightAmongMany) {
  std::vector<float> one = noise(100'003, 1, 0.05), other = one;
  other[99'999] += 1;
  EXPECT_NEAR(sketch_distance(sketch_of(one), sketch_of(other)).value(), 1, 1e-4);
  EXPECT_NEAR(sketch_norm(sketch_of(one)).value() / distance(one, std::vector<float>(one.size())), 1, 0.45);
  EXPECT_EQ(sketch_distance(sketch_of(one), sketch_of(one)), 0);
}

TEST(WeightSketch, RefusesWhatIsNone) {
  const std::string sketch = sketch_of({1, 2, 3});
  EXPECT_EQ(sketch.size(), 128u);
  for (const std::string& other : {std::string(), std::string(128, 'x'), sketch.substr(1)})
    EXPECT_FALSE(sketch_distance(sketch, other).has_value()) << other;
}

}  // namespace
}  // namespace mgcompare
