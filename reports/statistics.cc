#include "reports/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/median.h"
#include "reports/bootstrap.h"
#include "reports/rank_test.h"

namespace mgcompare {
namespace {

bool beyond_noise(const Spread& one, const Spread& other) {
  const double smaller = std::min(std::abs(one.median), std::abs(other.median));
  return std::abs(one.median - other.median) > kNoiseFloor * smaller;
}

bool is_tested(const Spread& one, const Spread& other) {
  return one.values.size() >= kTestedRepeats && other.values.size() >= kTestedRepeats;
}

bool has_decisive_repeats(const Spread& one, const Spread& other) {
  return one.count >= kDecisiveRepeats && other.count >= kDecisiveRepeats;
}

// The gap between the ranges; not positive if they overlap.
double gap_between(const Spread& one, const Spread& other) {
  return std::max(other.least - one.most, one.least - other.most);
}

Order by_ranges(const Spread& one, const Spread& other) {
  const double gap = gap_between(one, other);
  const double widest = std::max(one.most - one.least, other.most - other.least);
  if (!(gap > 0) || gap < widest / 3) return Order::undecided;
  return one.most < other.least ? Order::below : Order::above;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  Spread spread;
  spread.median = median(values);
  spread.least = values.front();
  spread.most = values.back();
  spread.count = values.size();
  const auto [low, high] = median_interval(values);
  spread.low = low;
  spread.high = high;
  spread.values = std::move(values);
  return spread;
}

Spread scaled(Spread spread, double factor) {
  for (double* figure : {&spread.median, &spread.least, &spread.most, &spread.low, &spread.high}) *figure *= factor;
  for (double& value : spread.values) value *= factor;
  return spread;
}

std::vector<bool> outliers(const std::vector<double>& values) {
  std::vector<bool> flags(values.size(), false);
  if (values.size() < 5) return flags;
  const double middle = median(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - middle));
  const double mad = median(deviations);
  const double mean = std::accumulate(deviations.begin(), deviations.end(), 0.0) / static_cast<double>(values.size());
  // If at least half of the values are equal, use the mean deviation, with its own factor.
  const double scale = mad > 0 ? mad / 0.6745 : 1.253314 * mean;
  for (std::size_t i = 0; i < values.size(); ++i) flags[i] = scale > 0 && std::abs(values[i] - middle) > 3.5 * scale;
  return flags;
}

std::vector<Order> compare_all(const std::vector<std::pair<const Spread*, const Spread*>>& pairs) {
  std::vector<double> chances;
  for (const auto& [one, other] : pairs) {
    if (is_tested(*one, *other)) chances.push_back(mann_whitney(one->values, other->values));
  }
  chances = holm(chances);
  std::vector<Order> orders;
  std::size_t tested = 0;
  for (const auto& [one, other] : pairs) {
    Order order = Order::undecided;
    if (is_tested(*one, *other)) {
      if (chances[tested++] < kSignificance) order = one->median < other->median ? Order::below : Order::above;
    } else if (has_decisive_repeats(*one, *other)) {
      order = by_ranges(*one, *other);
    }
    orders.push_back(beyond_noise(*one, *other) ? order : Order::undecided);
  }
  return orders;
}

bool differs_by_noise(const Spread& one, const Spread& other) { return has_decisive_repeats(one, other) && !beyond_noise(one, other); }

bool includes_one(const Spread& ratio) { return ratio.count > 0 && ratio.low <= 1 && ratio.high >= 1; }

std::string_view doubt_of(const Spread& one, const Spread& other, const Spread& ratio) {
  if (!has_decisive_repeats(one, other)) return "fewer than three repeats";
  if (differs_by_noise(one, other)) return "their medians differ by 2 % or less";
  // Beside an interval that does not include 1 the reason needs a reason.
  const bool is_ahead_by_seeds = ratio.count > 0 && !includes_one(ratio);
  if (is_tested(one, other)) {
    return is_ahead_by_seeds ? "the rank test finds no significant difference (seed by seed one row is ahead, but the seeds differ more than the rows)"
                             : "the rank test finds no significant difference";
  }
  if (!(gap_between(one, other) > 0)) {
    return is_ahead_by_seeds ? "their ranges overlap (seed by seed one row is ahead, but its worst repeat is no better than the other's best)"
                             : "their ranges overlap";
  }
  return "the gap between their ranges is less than a third of the wider range";
}

Order compare(const Spread& one, const Spread& other) { return compare_all({{&one, &other}}).front(); }

}  // namespace mgcompare
