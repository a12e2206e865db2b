#include "reports/student.h"

#include <cmath>

namespace mgcompare {
namespace {

// The continued fraction of the incomplete beta function.
double beta_fraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300, kEnough = 1e-12;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), fraction = d;
  for (int m = 1; m < 500; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double change = 1;
    for (const double term : {even, odd}) {
      d = 1 / away_from_zero(1 + term * d);
      c = away_from_zero(1 + term / c);
      change = c * d;
      fraction *= change;
    }
    if (std::abs(change - 1) < kEnough) break;
  }
  return fraction;
}

// The regularised incomplete beta function.
double incomplete_beta(double x, double a, double b) {
  if (!(x > 0)) return 0;
  if (!(x < 1)) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(x, a, b) / a : 1 - front * beta_fraction(1 - x, b, a) / b;
}

// Where a falling function is `chance`.
template <class F>
double falls_to(double chance, const F& function) {
  double low = 0, high = 1;
  while (function(high) > chance && high < 1e12) high *= 2;
  for (int step = 0; step < 80; ++step) {
    const double middle = (low + high) / 2;
    (function(middle) > chance ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

double student_bound(double chance, std::size_t degrees) {
  const auto n = static_cast<double>(degrees);
  return falls_to(chance, [&](double t) { return incomplete_beta(n / (n + t * t), n / 2, 0.5); });
}

double normal_bound(double chance) {
  return falls_to(chance, [](double z) { return std::erfc(z / std::sqrt(2.0)); });
}

}  // namespace mgcompare
