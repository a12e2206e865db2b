#pragma once

// Quantiles of Student's distribution, for the half-width of an interval.

#include <cstddef>

namespace mgcompare {

// The value that the absolute value of Student's t with so many degrees of freedom exceeds with the probability `chance`, which is in
// (0, 1); at least one degree. By bisection of the regularised incomplete beta function, whose continued fraction is that of Lentz
// (Press et al., Numerical Recipes, 2007, section 6.4); six digits.
double student_bound(double chance, std::size_t degrees);
// The same of the normal distribution.
double normal_bound(double chance);

}  // namespace mgcompare
