// Whether accuracies by epoch coincide within noise.

#include "reports/coincidence.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "reports/framework_findings.h"
#include "reports/student.h"
#include "results/framework_runs.h"

namespace mgcompare {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Student, HasTheBoundsOfTables) {
  EXPECT_NEAR(student_bound(0.05, 1), 12.7062, 1e-3);
  EXPECT_NEAR(student_bound(0.05, 4), 2.77645, 1e-4);
  EXPECT_NEAR(student_bound(0.01, 10), 3.16927, 1e-4);
  EXPECT_NEAR(student_bound(0.05, 1000), 1.96234, 1e-4);
  EXPECT_NEAR(normal_bound(0.05), 1.95996, 1e-4);
  EXPECT_NEAR(normal_bound(0.0025), 3.02334, 1e-4);
}

// Two rows with these accuracies by seed and epoch.
struct Pair {
  RunMaker maker;
  Comparison comparison;
  Coincidence found;

  Pair(const std::vector<std::vector<double>>& one, const std::vector<std::vector<double>>& other, std::uint64_t samples) {
    const auto result = [&](const std::vector<double>& accuracies) {
      Result row = paced(1000);
      row.epochs.clear();
      for (const double accuracy : accuracies) row.epochs.push_back({.loss = 0.2, .accuracy = accuracy, .seconds_training = 1});
      row.samples_evaluated = samples;
      return row;
    };
    for (std::size_t seed = 0; seed < one.size(); ++seed) maker.baseline(seed + 1, result(one[seed]));
    for (std::size_t seed = 0; seed < other.size(); ++seed) add_foreign(maker, "T eager", 1, seed + 1, result(other[seed]), "alone");
    comparison = compare_rows(maker.run);
    found = coincidence_of(comparison.cells.at(1), comparison.cells.at(0));
  }
};

TEST(Coincidence, FollowsItsFormula) {
  const Pair pair({{0.90, 0.95}, {0.92, 0.96}}, {{0.91, 0.93}, {0.93, 0.95}}, 10'000);
  ASSERT_EQ(pair.found.epochs.size(), 2u);
  EXPECT_NEAR(pair.found.epochs[0].difference, 0.01, 1e-12);
  const double spread = std::pow(student_bound(0.025, 2), 2) * (0.0002 + 0.0002) / 2 * (0.5 + 0.5);
  const double sampling = std::pow(normal_bound(0.025), 2) * 2 * 0.915 * 0.085 / 10'000;
  EXPECT_NEAR(pair.found.epochs[0].bound, std::sqrt(spread + sampling), 1e-9);
  EXPECT_TRUE(pair.found.coincides());
}

TEST(Coincidence, ComparesEqualSeeds) {
  // The seeds differ by far more than the rows.
  const Pair close({{0.90, 0.95}, {0.92, 0.96}, {0.94, 0.97}}, {{0.901, 0.9503}, {0.919, 0.9595}, {0.941, 0.9702}}, 10'000);
  ASSERT_EQ(close.found.epochs.size(), 2u);
  EXPECT_TRUE(close.found.is_paired);
  EXPECT_NEAR(close.found.epochs[0].difference, 0.001 / 3, 1e-12);
  EXPECT_NEAR(close.found.epochs[0].bound, student_bound(0.025, 2) * std::sqrt((0.000001 * 3 - 3 * std::pow(0.001 / 3, 2)) / 2 / 3), 1e-9);
  EXPECT_TRUE(close.found.coincides());
  const Pair lower({{0.90, 0.95}, {0.92, 0.96}, {0.94, 0.97}}, {{0.897, 0.947}, {0.917, 0.9571}, {0.9371, 0.967}}, 10'000);
  EXPECT_FALSE(lower.found.coincides()) << "0.3 points lower with each seed";
  const Pair borders({{0.90}, {0.92}, {0.94}}, {{0.9002}, {0.9202}, {0.9402}}, 10'000);
  EXPECT_TRUE(borders.found.coincides()) << "two of the test samples";
}

TEST(Coincidence, NamesTheEpochThatDoesNotFit) {
  const Pair pair({{0.90, 0.950}, {0.90, 0.951}, {0.90, 0.949}}, {{0.90, 0.910}, {0.90, 0.911}, {0.90, 0.909}}, 10'000);
  EXPECT_FALSE(pair.found.coincides());
  EXPECT_EQ(pair.found.worst.epoch, 2u);
  EXPECT_NEAR(pair.found.worst.difference, -0.04, 1e-9);
  const std::vector<std::string> sentences = coincidence_sentences(pair.comparison);
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_THAT(
      sentences[0],
      StartsWith("The accuracy of T eager on 1 CPU core, batch 128 does not coincide with that of alone here: after epoch 2 it is 4.0 points lower, and "
                 "noise explains up to 0."));
}

TEST(Coincidence, OfOneRepeatEachIsJudgedByTheTestSet) {
  const Pair close({{0.90}}, {{0.91}}, 1000), apart({{0.90}}, {{0.95}}, 1000), unknown({{0.90}}, {{0.91}}, 0);
  EXPECT_TRUE(close.found.coincides());
  EXPECT_NEAR(close.found.worst.bound, 1.95996 * std::sqrt(2 * 0.905 * 0.095 / 1000), 1e-5);
  EXPECT_FALSE(apart.found.coincides());
  EXPECT_TRUE(unknown.found.epochs.empty()) << "there is nothing to judge by";
  EXPECT_THAT(coincidence_sentences(close.comparison).at(0),
              StartsWith("Whether one row of other frameworks learns as the row here that computes in the same way is "
                         "not told, for lack of three repeats: the largest difference is 1.0 points, of T eager"));
  EXPECT_THAT(coincidence_sentences(apart.comparison).at(0), HasSubstr("does not coincide"));
  EXPECT_TRUE(coincidence_sentences(unknown.comparison).empty());
}

// Accuracies of one test set, with a spread between repeats beside that of the seeds: at most one run in twenty differs by chance.
TEST(Coincidence, RarelyFindsADifferenceWhereThereIsNone) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> seeds(0, 0.004);
  std::binomial_distribution<int> tested(2000, 0.95);
  constexpr int kRuns = 400;
  int apart = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<std::vector<double>> rows[2];
    std::vector<double> sets;
    for (int epoch = 0; epoch < 4; ++epoch) sets.push_back(tested(random) / 2000.0);
    for (auto& row : rows) {
      for (int seed = 0; seed < 3; ++seed) {
        row.emplace_back();
        for (const double set : sets) row.back().push_back(set + seeds(random));
      }
    }
    apart += Pair(rows[0], rows[1], 2000).found.coincides() ? 0 : 1;
  }
  EXPECT_LE(apart, kRuns / 20 + 3 * std::sqrt(kRuns / 20.0)) << "5 %, and three standard deviations of so many runs";
  EXPECT_GE(apart, kRuns / 20 - 3 * std::sqrt(kRuns / 20.0)) << "a bound that finds less is too wide";
}

}  // namespace
}  // namespace mgcompare
