#pragma once

// Whether two rows that compute in the same way learn alike: their accuracies by epoch coincide within noise.
//
// In an epoch, let d be the difference of the mean accuracies of n and m repeats, s^2 their pooled variance, p the mean of the two
// accuracies, and N the number of test samples. Noise explains |d| up to
//
//   sqrt((t s)^2 (1/n + 1/m) + z^2 2 p (1 - p) / N),
//
// where t and z are the bounds of Student's distribution with n + m - 2 degrees of freedom and of the normal one that chance exceeds
// in 5 % of all comparisons of E epochs: in 0.05 / E of each (Bonferroni; Dunn, Journal of the American Statistical Association 56,
// 1961). The first term is the spread between seeds, by the two-sample test of Student (1908). The second one is the sampling error
// of the test set, by the test for the difference of two proportions (Dietterich, Approximate statistical tests for comparing
// supervised classification learning algorithms, Neural Computation 10, 1998, section 3). It takes the two accuracies as
// independent. They are of the same test set, so their difference has less sampling error, and the bound is too wide rather than too
// narrow; the same holds for the first term, because rows share seeds. With one repeat on each side there is no first term.

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
  bool coincides() const;           // in every epoch
};

Coincidence coincidence_of(const Cell& one, const Cell& other);

}  // namespace mgcompare
