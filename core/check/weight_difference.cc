#include "check/weight_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mgcompare {

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    largest = std::isfinite(difference) ? std::max(largest, difference) : INFINITY;
  }
  return largest;
}

double largest_difference(const std::vector<std::vector<float>>& expected, const std::vector<std::vector<float>>& weights) {
  double largest = 0;
  for (std::size_t rank = 0; rank < expected.size(); ++rank)
    largest = std::max(largest, largest_difference(expected[rank], weights.at(rank)));
  return largest;
}

std::string difference_text(double difference, double limit, std::size_t steps) {
  if (difference == 0) return fmt::format("the same bits after {} steps", steps);
  const std::string text = fmt::format("differs by {:.1e} after {} steps", difference, steps);
  return limit == 0 ? text : fmt::format("{}, limit {:.0e}", text, limit);
}

}  // namespace mgcompare
