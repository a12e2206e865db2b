#include <gtest/gtest.h>

#include "config/kinds.h"
#include "train/evaluation.h"

namespace mgcompare {
namespace {

NetworkSpec spec_of(const Shape& sample, const Shape& output) {
  NetworkSpec spec;
  spec.sample_shape = sample;
  spec.layers.emplace_back();
  spec.layers.back().output_shape = output;
  return spec;
}

TEST(EvaluationBatch, IsAsLargeAsMemoryOfAStepOrOfAFixedSizeAllows) {
  const NetworkSpec small = spec_of({1, 28, 28}, {8, 24, 24});
  for (const std::size_t step : {1u, 64u, 500u, 100000u}) EXPECT_EQ(evaluation_batch(small, step), 500u) << step;
  const NetworkSpec large = spec_of({3, 224, 224}, {64, 224, 224});  // 3.4 million values: 4 samples in 64 MiB
  EXPECT_EQ(evaluation_batch(large, 1), 4u);
  EXPECT_EQ(evaluation_batch(large, 32), 32u);
  EXPECT_EQ(evaluation_batch(large, 4096), 500u);
  EXPECT_EQ(evaluation_batch(spec_of({1, 20000, 20000}, {10}), 1), 1u);
}

}  // namespace
}  // namespace mgcompare
