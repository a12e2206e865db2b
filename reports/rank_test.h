#pragma once

// Whether two sets of repeats come from one kind: the rank-sum test of Mann and Whitney (1947), and Holm's correction
// (1979) for many such questions at once.

#include <vector>

namespace mgcompare {

// The two-sided chance of ranks at least as uneven as these if both sides were of one kind: exact without ties and with
// up to 50 values a side, else by the normal approximation with corrections for ties and continuity. Neither side empty.
double mann_whitney(const std::vector<double>& one, const std::vector<double>& other);

// The chances, raised so that all of them together may be held against one limit.
std::vector<double> holm(const std::vector<double>& chances);

}  // namespace mgcompare
