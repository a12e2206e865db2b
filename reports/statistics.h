#pragma once

// A figure over its repeats, and tests whether two figures differ.

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace mgcompare {

struct Spread {
  double median = 0, least = 0, most = 0;
  std::size_t count = 0;            // number of values; 0: no figure
  double low = 0, high = 0;         // 95 % interval of the median (bootstrap.h)
  std::vector<double> values;       // sorted
};

// Ignores values that are not finite.
Spread spread_of(std::vector<double> values);
// All values multiplied by `factor`.
Spread scaled(Spread spread, double factor);

// Marks values with a modified z-score above 3.5 (Iglewicz and Hoaglin, 1993). Outliers are reported, never removed. None with
// fewer than five values.
std::vector<bool> outliers(const std::vector<double>& values);

enum class Order { below, above, undecided };

// With fewer repeats on one side the comparison is undecided.
inline constexpr std::size_t kDecisiveRepeats = 3;
// With so many repeats on each side the Mann-Whitney test is used.
inline constexpr std::size_t kTestedRepeats = 9;
// Of tests: the chance of a difference where there is none.
inline constexpr double kSignificance = 0.05;
// Medians with a smaller relative difference are undecided.
inline constexpr double kNoiseFloor = 0.02;

// Compares two figures. With at least nine repeats on each side by the rank test at 5 %. With fewer, the ranges must not
// overlap, and the gap must be at least a third of the wider range: for equal distributions and three repeats each this happens
// in less than 4 % of comparisons (without the gap in 10 %). Otherwise undecided.
Order compare(const Spread& one, const Spread& other);
// The same for many pairs, with the rank tests corrected for their number (Holm, 1979).
std::vector<Order> compare_all(const std::vector<std::pair<const Spread*, const Spread*>>& pairs);
// Whether there are enough repeats, and the medians differ by no more than the noise floor.
bool differs_by_noise(const Spread& one, const Spread& other);
// Whether the 95 % interval of a ratio leaves open which of the two figures is larger.
bool includes_one(const Spread& ratio);
// Why a pair is undecided, as a phrase. `ratio`: of both figures, seed by seed, if it is printed beside the phrase.
std::string_view doubt_of(const Spread& one, const Spread& other, const Spread& ratio = {});

}  // namespace mgcompare
