#pragma once

// Percentile bootstrap of medians: 95 % of 10,000 resamples with a fixed seed, so that a report of the same results is
// the same report (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13).

#include <utility>
#include <vector>

namespace mgcompare {

using Interval = std::pair<double, double>;

// Of the median of sorted values, of which there is at least one. Of up to five it is their range, which holds the true median
// less often than it says: in 75 % of cases with three, 88 % with four, 94 % with five.
Interval median_interval(const std::vector<double>& sorted);
// Of the ratio of two medians, each side resampled by itself; sorted, not empty, the lower side above zero.
Interval ratio_interval(const std::vector<double>& upper, const std::vector<double>& lower);

}  // namespace mgcompare
