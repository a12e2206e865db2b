#pragma once

// Whether two rows that compute in the same way learn alike: their accuracies by epoch coincide within noise.
//
// Rows that share seeds share the initial weights, the samples, their order and the test set. With three such pairs or more, let d be
// the mean of their differences in an epoch, s their standard deviation, and N the number of test samples. Noise explains |d| up to
//
//   max(t s / sqrt(n), 2 / N),
//
// by the paired test of Student (1908): t is the bound of his distribution with n - 1 degrees of freedom that chance exceeds in 5 % of
// all comparisons of E epochs, in 0.05 / E of each (Bonferroni; Dunn, Journal of the American Statistical Association 56, 1961). Two
// test samples are always explained: rounding decides samples on the border of two classes.
//
// With fewer pairs, and for rows whose repeats are independent, let d be the difference of the mean accuracies of n and m repeats, s^2
// their pooled variance, and p the mean of the two accuracies. Noise explains |d| up to
//
//   sqrt((t s)^2 (1/n + 1/m) + z^2 2 p (1 - p) / N),
//
// where t has n + m - 2 degrees of freedom and z is the same bound of the normal distribution. The first term is the spread between
// seeds; with one repeat on each side there is none. The second one is the sampling error of the test set, by the test for the difference
// of two proportions (Dietterich, Approximate statistical tests for comparing supervised classification learning algorithms, Neural
// Computation 10, 1998, section 3). It takes the accuracies as independent, although they are of the same test set: this bound is too
// wide rather than too narrow.

#include <cstddef>

#include "reports/comparison.h"

namespace mgcompare {

struct EpochDifference {
  std::size_t epoch = 0;            // from 1
  double difference = 0;            // mean accuracy of one less that of the other
  double bound = 0;                 // what noise explains
};

struct Coincidence {
  const Cell* one = nullptr;
  const Cell* other = nullptr;
  std::vector<EpochDifference> epochs;  // that both have; none if there is no noise to judge them by
  EpochDifference worst;            // the largest difference in units of its bound
  bool has_seeds = false;           // more than two repeats in all: the spread between seeds is in the bound
  bool is_paired = false;           // by the differences of equal seeds
  bool coincides() const;           // in every epoch
};

// `by_seed`: repeats with the same seed are pairs.
Coincidence coincidence_of(const Cell& one, const Cell& other, bool by_seed = true);

}  // namespace mgcompare
