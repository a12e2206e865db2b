#include "compression.h"

#include <algorithm>
#include <set>

#include "plugins/top_k/sparse.h"

namespace mgcompare {
namespace {

using namespace testing;
using top_k::Entry;
using top_k::Sparse;

// Runs several steps of one rank without an exchange; calls ask(step, taken, sparse) after each.
void take(const std::vector<Part>& parts, double momentum, double ratio, std::size_t steps,
          const std::function<void(std::size_t, Span<Entry>, Sparse&)>& ask) {
  spawn(1, [&](Device& device, RankGroup&) {
    Sparse sparse(device, parts, momentum, ratio, 1);
    for (std::size_t step = 0; step < steps; ++step) {
      const std::vector<float> gradient = gradient_of(0, step, size_of(parts));
      ask(step, sparse.take(device, ConstVec(gradient.data(), gradient.size()), ratio), sparse);
    }
  });
}

std::size_t in_matrices(const std::vector<Part>& parts) {
  std::size_t elements = 0;
  for (const Part& part : parts) elements += part.shape.size() > 1 ? part.range.size() : 0;
  return elements;
}

bool in_a_vector(const std::vector<Part>& parts, std::size_t i) {
  return std::any_of(parts.begin(), parts.end(), [&](const Part& part) {
    return part.shape.size() < 2 && part.range.begin <= i && i < part.range.end;
  });
}

TEST(TopK, SendsItsShareOfMatricesAndAllOfVectors) {
  const std::vector<Part> parts = odd_parts();
  for (const double ratio : {1e-6, 0.01, 0.1, 0.5, 0.999, 1.0})
    take(parts, 0.9, ratio, 3, [&](std::size_t, Span<Entry> taken, Sparse&) {
      const auto share = static_cast<std::size_t>(std::ceil(ratio * static_cast<double>(in_matrices(parts))));
      ASSERT_EQ(taken.size(), share + size_of(parts) - in_matrices(parts));
      std::size_t of_vectors = 0;
      for (std::size_t k = 0; k < taken.size(); ++k) {
        of_vectors += in_a_vector(parts, taken[k].index) ? 1 : 0;
        if (k > 0) { ASSERT_LT(taken[k - 1].index, taken[k].index); }
      }
      EXPECT_EQ(of_vectors, size_of(parts) - in_matrices(parts));
    });
}

TEST(TopK, TakesTheLargest) {
  const std::vector<Part> parts = parts_with({{50, 41}});
  take(parts, 0, 0.1, 1, [&](std::size_t, Span<Entry> taken, Sparse& sparse) {
    float least = INFINITY, most_left = 0;
    for (const Entry& entry : taken) least = std::min(least, std::abs(entry.value));
    for (const float left : sparse.unsent()) most_left = std::max(most_left, std::abs(left));
    // Keys have 24 bits: magnitudes with a relative difference below 2^-16 count as equal.
    EXPECT_GE(least * (1 + 0x1p-15f), most_left);
    EXPECT_EQ(taken.size(), 205u);
  });
}

TEST(TopK, OfEqualOnesTheFirstAreTakenAndLargerOnesAlways) {
  spawn(1, [](Device& device, RankGroup&) {
    const std::vector<Part> parts = parts_with({{10, 10}});
    Sparse sparse(device, parts, 0, 0.05, 1);
    std::vector<float> gradient(100, 0.5f);
    gradient[99] = 2;
    gradient[3] = -0.5f;
    const Span<Entry> taken = sparse.take(device, ConstVec(gradient.data(), 100), 0.05);
    std::vector<std::uint32_t> indices;
    for (const Entry& entry : taken) indices.push_back(entry.index);
    EXPECT_THAT(indices, ::testing::ElementsAre(0, 1, 2, 3, 99));
    // Zeros are equal, too.
    Sparse empty(device, parts, 0, 0.05, 1);
    const std::vector<float> zeros(100);
    EXPECT_EQ(empty.take(device, ConstVec(zeros.data(), 100), 0.05)[4].index, 4u);
  });
}

TEST(TopK, WhatIsSentIsForgotten) {
  const std::vector<Part> parts = odd_parts();
  take(parts, 0.9, 0.1, 4, [&](std::size_t, Span<Entry> taken, Sparse& sparse) {
    for (const Entry& entry : taken) {
      EXPECT_EQ(sparse.unsent()[entry.index], 0);
      // Vectors are sent in each step, so their momentum is kept.
      EXPECT_EQ(sparse.velocity()[entry.index] == 0, !in_a_vector(parts, entry.index));
    }
  });
}

TEST(TopK, VelocitiesFollowTheFormula) {
  const std::vector<Part> parts = odd_parts();
  std::vector<float> u(size_of(parts)), v(size_of(parts));
  take(parts, 0.9, 0.1, 4, [&](std::size_t step, Span<Entry> taken, Sparse& sparse) {
    const std::vector<float> gradient = gradient_of(0, step, size_of(parts));
    for (std::size_t i = 0; i < u.size(); ++i) v[i] += u[i] = 0.9f * u[i] + gradient[i];
    for (const Entry& entry : taken) {
      EXPECT_EQ(entry.value, v[entry.index]);
      v[entry.index] = 0;
      if (!in_a_vector(parts, entry.index)) u[entry.index] = 0;
    }
    EXPECT_EQ(values_of(sparse.unsent()), v);
    EXPECT_EQ(values_of(sparse.velocity()), u);
  });
}

TEST(TopK, WithoutMomentumNothingIsLost) {
  const std::vector<Part> parts = odd_parts();
  for (const std::size_t ranks : {2u, 3u, 8u}) {
    std::vector<double> balance(size_of(parts));
    std::mutex mutex;
    std::set<std::vector<float>> seen;
    spawn(ranks, [&](Device& device, RankGroup& group) {
      Sparse sparse(device, parts, 0, 0.05, ranks);
      const Array<float> gradients = device_array<float>(device, size_of(parts));
      for (std::size_t step = 0; step < 5; ++step) {
        const std::vector<float> own = gradient_of(static_cast<std::size_t>(group.rank()), step, size_of(parts));
        set(gradients, own);
        sparse.run(device, group, gradients.span(), 0.05);
        const std::lock_guard lock(mutex);
        seen.insert(values_of(gradients.span()));
        for (std::size_t i = 0; i < own.size(); ++i) {
          balance[i] += static_cast<double>(own[i]);
          if (group.rank() == 0) balance[i] -= static_cast<double>(gradients[i]);
          if (step == 4) balance[i] -= static_cast<double>(sparse.unsent()[i]);
        }
      }
    });
    EXPECT_EQ(seen.size(), 5u) << "the ranks' sums differ";
    for (const double left : balance) ASSERT_NEAR(left, 0, 1e-5 * static_cast<double>(ranks));
  }
}

TEST(TopK, AllOfTheElementsAreDenseMomentum) {
  const std::vector<float> plain = run(small_trial(3, "replicated")).weights[0];
  EXPECT_EQ(run(small_trial(3, "top_k", {{"ratio", "1", false, {}}})).weights[0], plain);
  EXPECT_NE(run(small_trial(3, "top_k", {{"ratio", "0.99", false, {}}})).weights[0], plain);
}

TEST(TopK, SendsTheBytesOfTheFormula) {
  Trial trial = small_trial(4, "top_k", {{"ratio", "0.01", false, {}}, {"warm_up_epochs", "0", false, {}}});
  trial.config.model = lenet_model();
  trial.config.epochs = 1;
  const Result result = run(trial, {}, [](TrainingRequest& request) { request.most_steps = 2; }).result;
  // Each rank sends an index and a value for each element to the three others.
  const double elements = std::ceil(430'500 * 0.01) + 580;
  EXPECT_NEAR(result.bytes_per_step, 3 * 8 * elements, 1);
  EXPECT_NEAR(result.metrics[0].at("compression").last, 431'080 * 4 / (8 * elements), 1e-9);
}

TEST(TopK, TheWarmUpSendsLessFromEpochToEpoch) {
  const auto bytes = [](std::size_t epochs) {
    Trial trial = small_trial(2, "top_k", {{"ratio", "0.001", false, {}}, {"warm_up_epochs", "4", false, {}}});
    trial.config.epochs = epochs;
    return run(trial).result.bytes_per_step * 15 * static_cast<double>(epochs);
  };
  const NetworkSpec spec = make_spec(small_model(), small_digits().spec, false);
  const double matrices = static_cast<double>(in_matrices(spec.parts)), vectors = static_cast<double>(spec.parameters) - matrices;
  double former = 0;
  for (const auto& [epochs, share] : {std::pair{1, 0.251}, std::pair{2, 0.0631}, std::pair{3, 0.01585}, std::pair{4, 0.00398}, std::pair{5, 0.001}}) {
    const double all = bytes(static_cast<std::size_t>(epochs));
    EXPECT_NEAR((all - former) / 15 / 8, share * matrices + vectors, 0.001 * matrices + 1) << epochs;
    former = all;
  }
}

TEST(TopK, AllRanksHaveOneModel) {
  expect_one_model("top_k", {});
  expect_one_model("top_k", {{"ratio", "0.3", false, {}}, {"warm_up_epochs", "0", false, {}}});
  expect_one_model("top_k", {{"ratio", "1", false, {}}});
}

TEST(TopK, ResumesWithItsVelocities) {
  expect_resumes("top_k", {});
  expect_resumes("top_k", {{"ratio", "0.2", false, {}}, {"warm_up_epochs", "0", false, {}}});
}

TEST(TopK, RefusesWhatDoesNotFit) {
  using ::testing::ElementsAre;
  using ::testing::StartsWith;
  EXPECT_THAT(problems_of("top_k", {{"ratio", "1", false, {}}, {"warm_up_epochs", "0", false, {}}}), ::testing::IsEmpty());
  for (const char* ratio : {"0", "-0.1", "1.5", "much"})
    EXPECT_THAT(problems_of("top_k", {{"ratio", ratio, false, {}}}), ElementsAre(StartsWith("ratio: "))) << ratio;
  EXPECT_THAT(problems_of("top_k", {{"warm_up_epochs", "-1", false, {}}}), ElementsAre(StartsWith("warm_up_epochs: ")));
}

}  // namespace
}  // namespace mgcompare
