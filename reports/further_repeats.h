#pragma once

// How many more repeats would decide an undecided answer, from the spread that was measured.
//
// The two figures are taken as normally distributed, with the means and standard deviations of their repeats. The estimate is the
// smallest number of repeats for each row with which the rule of statistics.h would decide in 80 % of cases:
//
// - up to eight repeats, where ranges are compared: counted in 400 drawn pairs of samples, with fixed random numbers;
// - from nine repeats on, where ranks are tested: n = (z(1 - a / 2) + z(0.8))^2 / (6 (p - 1/2)^2), with a = 5 % over the number of
//   compared pairs (the strictest step of Holm's correction) and p, the chance that a repeat of one row exceeds a repeat of the
//   other: Phi(|m1 - m2| / sqrt(s1^2 + s2^2)). Noether, "Sample size determination for some common nonparametric tests", Journal of
//   the American Statistical Association 82 (1987), 645-647.
// - from nine repeats on the interval of the factor, seed by seed, must also exclude 1: n = (pi / 2) (z(0.975) + z(0.8))^2 s^2 / m^2,
//   with the mean m and the standard deviation s of the logarithms of the factors, because the variance of a median of n values is
//   pi / 2 times that of their mean. Ranges without overlap always exclude it. The larger of both numbers counts.
//
// Standard deviations of a few repeats are rough, and so is the estimate.

#include <cstddef>
#include <string>

#include "reports/comparison.h"
#include "reports/overview.h"

namespace mgcompare {

struct FurtherRepeats {
  enum class State {
    none,                           // decided, or nothing to decide
    unknown,                        // fewer than two repeats of a row: no spread is known
    estimated,
    close,                          // the medians differ by 2 % or less: no number of repeats is expected to separate them
  };
  State state = State::none;
  // Estimated, per row. Unknown: up to the three that can decide. Close: up to the nine after which nothing else is expected; 0 then.
  std::size_t more = 0;
};

// Of two undecided figures, of which `pairs` were compared. `factor`: their ratio, seed by seed; without it equal seeds say nothing.
FurtherRepeats further_repeats(const Spread& one, const Spread& other, std::size_t pairs, const Spread& factor = {});
// Of the rows that decide the answer.
FurtherRepeats further_repeats(const Comparison& comparison);
// A sentence about it; empty for `none`.
std::string further_repeats_text(const Comparison& comparison);
// The same below an answer; empty if rows have one repeat, because the answer says that this is too few, and if the machine may have
// decided, because then they are to be measured again.
std::string further_repeats_below_answer(const Comparison& comparison);
// Why no further repeats are added: "the answer is decided", or for each part that is not, what it needs instead.
std::string no_repeats_text(const Overview& overview);
// Whether further repeats may decide the answer of a part that is open.
bool needs_repeats(const Overview& overview);

}  // namespace mgcompare
