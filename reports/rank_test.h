#pragma once

// Whether two samples have the same distribution: the rank-sum test of Mann and Whitney (1947), with Holm's correction (1979)
// for multiple tests.

#include <vector>

namespace mgcompare {

// The two-sided p-value: exact without ties and with up to 50 values per side, else the normal approximation with corrections
// for ties and continuity. Neither side is empty.
double mann_whitney(const std::vector<double>& one, const std::vector<double>& other);

// The p-values, adjusted so that all of them can be compared with one significance level.
std::vector<double> holm(const std::vector<double>& chances);

}  // namespace mgcompare
