#include "compression.h"

#include <set>

#include "plugins/power_sgd/low_rank.h"

namespace mgcompare {
namespace {

using namespace testing;
using power_sgd::LowRank;

// Runs several exchanges on several ranks; calls ask(rank, step, gradients, low_rank) after each.
void exchange(const std::vector<Part>& parts, std::size_t rank_of_factors, std::size_t ranks, std::size_t steps,
              const std::function<std::vector<float>(std::size_t rank, std::size_t step)>& gradient,
              const std::function<void(std::size_t, std::size_t, Vec, LowRank&)>& ask) {
  std::mutex mutex;
  spawn(ranks, [&](Device& device, RankGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    LowRank low_rank(device, parts, rank_of_factors, ranks, Random(3, 4));
    const Array<float> gradients = device_array<float>(device, size_of(parts));
    for (std::size_t step = 0; step < steps; ++step) {
      set(gradients, gradient(rank, step));
      low_rank.run(device, group, gradients.span());
      const std::lock_guard lock(mutex);
      ask(rank, step, gradients.span(), low_rank);
    }
  });
}

// Matrices of 60 x 45, 50 x 40 and 9 x 4, and vectors. The last matrix is too small to be compressed.
std::vector<Part> parts() { return parts_with({{60, 5, 3, 3}, {60}, {50, 40}, {50}, {9, 4}, {9}}); }

// Each matrix is a sum of `rank` outer products.
std::vector<float> matrices_of_rank(std::size_t rank) {
  std::vector<float> gradient(size_of(parts()));
  for (const Part& part : parts()) {
    const std::size_t rows = part.shape[0], columns = part.range.size() / rows;
    for (std::size_t r = 0; r < rank; ++r) {
      const std::vector<float> left = gradient_of(r, 1, rows), right = gradient_of(r, 2, columns);
      for (std::size_t i = 0; i < part.range.size(); ++i)
        gradient[part.range.begin + i] += left[i / columns] * right[i % columns];
    }
  }
  return gradient;
}

TEST(PowerSgd, ReproducesMatricesOfItsRank) {
  for (const std::size_t rank : {1u, 2u, 4u}) {
    const std::vector<float> gradient = matrices_of_rank(rank);
    for (const std::size_t factors : {rank, rank + 1})
      exchange(parts(), factors, 1, 1, [&](std::size_t, std::size_t) { return gradient; },
               [&](std::size_t, std::size_t, Vec out, LowRank& low_rank) {
                 for (std::size_t i = 0; i < gradient.size(); ++i) {
                   ASSERT_NEAR(out[i], gradient[i], 2e-4) << "rank " << rank << ", " << factors << " columns, " << i;
                   ASSERT_NEAR(low_rank.error()[i], 0, 2e-4);
                 }
               });
  }
}

TEST(PowerSgd, LowerRanksDoNotReproduceHigherOnes) {
  const std::vector<float> gradient = matrices_of_rank(4);
  exchange(parts(), 2, 1, 1, [&](std::size_t, std::size_t) { return gradient; },
           [&](std::size_t, std::size_t, Vec out, LowRank&) {
             double gap = 0;
             for (std::size_t i = 0; i < 2700; ++i) gap = std::max(gap, std::abs(static_cast<double>(out[i] - gradient[i])));
             EXPECT_GT(gap, 0.1);
           });
}

TEST(PowerSgd, WhatTheFactorsDoNotSayIsInTheErrors) {
  constexpr std::size_t kSteps = 4;
  for (const std::size_t ranks : {1u, 2u, 3u, 8u}) {
    std::vector<double> balance(size_of(parts()));
    std::set<std::vector<float>> seen;
    exchange(parts(), 2, ranks, kSteps,
             [&](std::size_t rank, std::size_t step) { return gradient_of(rank, step, size_of(parts())); },
             [&](std::size_t rank, std::size_t step, Vec out, LowRank& low_rank) {
               seen.insert(values_of(out));
               const std::vector<float> pushed = gradient_of(rank, step, size_of(parts()));
               for (std::size_t i = 0; i < balance.size(); ++i) {
                 balance[i] += static_cast<double>(pushed[i]);
                 if (rank == 0) balance[i] -= static_cast<double>(out[i]);
                 if (step == kSteps - 1) balance[i] -= static_cast<double>(low_rank.error()[i]);
               }
             });
    EXPECT_EQ(seen.size(), kSteps) << "the ranks' sums differ";
    for (const double left : balance) ASSERT_NEAR(left, 0, 2e-5 * static_cast<double>(ranks)) << ranks;
  }
}

TEST(PowerSgd, VectorsAndSmallMatricesAreWhole) {
  exchange(parts(), 2, 3, 2, [&](std::size_t rank, std::size_t step) { return gradient_of(rank, step, size_of(parts())); },
           [&](std::size_t, std::size_t step, Vec out, LowRank& low_rank) {
             for (const Part& part : parts()) {
               const std::size_t rows = part.shape[0], columns = part.range.size() / rows;
               if (power_sgd::compresses(rows, columns, 2) && part.shape.size() > 1) continue;
               for (std::size_t i = part.range.begin; i < part.range.end; ++i) {
                 float sum = gradient_of(0, step, size_of(parts()))[i];
                 for (std::size_t k = 1; k < 3; ++k) sum += gradient_of(k, step, size_of(parts()))[i];
                 ASSERT_EQ(out[i], sum);
                 ASSERT_EQ(low_rank.error()[i], 0);
               }
             }
           });
}

TEST(PowerSgd, CompressesOnlyWhatGetsSmallerByHalf) {
  EXPECT_TRUE(power_sgd::compresses(60, 45, 2));
  EXPECT_FALSE(power_sgd::compresses(9, 4, 2));
  EXPECT_FALSE(power_sgd::compresses(8, 8, 2));   // (8 + 8) 2 * 2 = 64
  EXPECT_TRUE(power_sgd::compresses(8, 9, 2));    // 68 < 72
}

TEST(PowerSgd, RepeatedStepsOnOneMatrixComeCloser) {
  // Q of one step is the start of the next: power iteration.
  const std::vector<float> gradient = gradient_of(0, 0, size_of(parts()));
  const auto one_pass = [&](std::size_t steps) {
    double squares = 0;
    spawn(1, [&](Device& device, RankGroup& group) {
      LowRank low_rank(device, parts(), 2, 1, Random(3, 4));
      const Array<float> gradients = device_array<float>(device, gradient.size());
      for (std::size_t step = 0; step < steps; ++step) {
        device.zero(low_rank.error().data(), low_rank.error().bytes());
        set(gradients, gradient);
        low_rank.run(device, group, gradients.span());
      }
      for (const float left : low_rank.error()) squares += static_cast<double>(left) * static_cast<double>(left);
    });
    return squares;
  };
  EXPECT_LT(one_pass(8), 0.99 * one_pass(1));
}

TEST(PowerSgd, ZerosStayZeros) {
  exchange(parts(), 3, 2, 2, [&](std::size_t, std::size_t) { return std::vector<float>(size_of(parts())); },
           [](std::size_t, std::size_t, Vec out, LowRank&) { EXPECT_THAT(values_of(out), ::testing::Each(0.0f)); });
}

TEST(PowerSgd, SendsTheBytesOfTheFormula) {
  Trial trial = small_trial(4, "power_sgd", {{"rank", "2", false, {}}, {"warm_up_steps", "0", false, {}}});
  trial.config.model = lenet_model();
  trial.config.epochs = 1;
  const Result result = run(trial, {}, [](TrainingRequest& request) { request.most_steps = 2; }).result;
  // LeNet's matrices: 20 x 25, 50 x 500, 500 x 800 and 10 x 500, all of which are compressed.
  const double elements = 2 * (20 + 25 + 50 + 500 + 500 + 800 + 10 + 500) + 580;
  EXPECT_NEAR(result.bytes_per_step, 2.0 * 3 / 4 * 4 * elements, 1);
  EXPECT_NEAR(result.metrics[0].at("compression").last, 431'080 / elements, 1e-9);
}

TEST(PowerSgd, WarmUpStepsAreWhole) {
  const std::vector<float> plain = run(small_trial(3, "replicated")).weights[0];
  EXPECT_EQ(run(small_trial(3, "power_sgd", {{"warm_up_steps", "30", false, {}}})).weights[0], plain);
  EXPECT_NE(run(small_trial(3, "power_sgd", {{"warm_up_steps", "29", false, {}}})).weights[0], plain);
}

TEST(PowerSgd, AllRanksHaveOneModel) {
  expect_one_model("power_sgd", {});
  expect_one_model("power_sgd", {{"rank", "1", false, {}}, {"warm_up_steps", "0", false, {}}});
}

TEST(PowerSgd, ResumesWithItsErrorsAndFactors) {
  expect_resumes("power_sgd", {});
  expect_resumes("power_sgd", {{"warm_up_steps", "40", false, {}}});
}

TEST(PowerSgd, RefusesWhatDoesNotFit) {
  using ::testing::ElementsAre;
  using ::testing::StartsWith;
  EXPECT_THAT(problems_of("power_sgd", {{"rank", "64", false, {}}, {"warm_up_steps", "0", false, {}}}), ::testing::IsEmpty());
  for (const char* rank : {"0", "65", "-1", "2.5"})
    EXPECT_THAT(problems_of("power_sgd", {{"rank", rank, false, {}}}), ElementsAre(StartsWith("rank: "))) << rank;
  EXPECT_THAT(problems_of("power_sgd", {{"warm_up_steps", "-1", false, {}}}), ElementsAre(StartsWith("warm_up_steps: ")));
}

}  // namespace
}  // namespace mgcompare
