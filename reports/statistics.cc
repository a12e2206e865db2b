#include "reports/statistics.h"

#include <algorithm>
#include <cmath>

namespace mgcompare {

Spread spread_of(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return {(values[(n - 1) / 2] + values[n / 2]) / 2, values.front(), values.back(), n};
}

Order compare(const Spread& one, const Spread& other) {
  if (one.count < kDecisiveRepeats || other.count < kDecisiveRepeats) return Order::undecided;
  if (one.most < other.least) return Order::below;
  if (one.least > other.most) return Order::above;
  return Order::undecided;
}

}  // namespace mgcompare
