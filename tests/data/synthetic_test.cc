#include "data/synthetic.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "data/load.h"
#include "data/refusal.h"

namespace mgcompare {
namespace {

SampleSpec form(const Shape& shape, std::size_t classes) {
  SampleSpec spec;
  spec.shape = shape;
  spec.classes = classes;
  return spec;
}

TEST(Synthetic, DependsOnTheSeedOnly) {
  const SampleSpec spec = form({3, 9, 7}, 5);
  const Dataset first = draw_samples(spec, 50, 10, 1), again = draw_samples(spec, 50, 10, 1), more = draw_samples(spec, 80, 10, 1);
  EXPECT_EQ(fingerprint_of(first), fingerprint_of(again));
  EXPECT_NE(fingerprint_of(first), fingerprint_of(draw_samples(spec, 50, 10, 2)));
  EXPECT_TRUE(std::equal(first.train.values.begin(), first.train.values.end(), more.train.values.begin()));
}

// The nearest mean of the training samples recognises the test samples, for shapes with one, two and three axes.
TEST(Synthetic, CanBeLearnt) {
  for (const Shape& shape : {Shape{40}, Shape{12, 9}, Shape{3, 16, 16}}) {
    const Dataset set = draw_samples(form(shape, 4), 400, 100, 1);
    const std::size_t size = set.train.values.size() / 400;
    std::vector<double> mean(4 * size);
    for (std::size_t i = 0; i < 400; ++i)
      for (std::size_t k = 0; k < size; ++k) mean[set.train.targets[i] * size + k] += set.train.values[i * size + k] / 100.0;
    int right = 0;
    for (std::size_t i = 0; i < 100; ++i) {
      std::vector<double> distance(4);
      for (std::size_t c = 0; c < 4; ++c)
        for (std::size_t k = 0; k < size; ++k) distance[c] += std::pow(set.test.values[i * size + k] - mean[c * size + k], 2);
      right += std::min_element(distance.begin(), distance.end()) - distance.begin() == static_cast<long>(set.test.targets[i]);
    }
    EXPECT_GT(right, 80) << shape.size() << " axes";
  }
}

TEST(Synthetic, MoreThanTheMemoryIsRefused) {
  DataConfig config;
  config.set = DataSource::synthetic;
  config.shape = {3, 100'000, 100'000};
  config.classes = 10;
  config.samples = 1000;
  EXPECT_THAT(refusal([&] { load_dataset(config, {}, nullptr); }),
              testing::ContainsRegex("need [0-9.]+ GiB of memory, and [0-9.]+ GiB are free"));
}

}  // namespace
}  // namespace mgcompare
