#include "reports/bootstrap.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>

namespace mgcompare {
namespace {

constexpr std::size_t kResamples = 10'000;
constexpr double kTail = 0.025;

// The two middle elements of a sorted resample, as indices into the sorted values; equal for an odd number of values.
struct Middle {
  std::size_t lower, upper;
  auto operator<=>(const Middle&) const = default;
};

// The middle elements of every resample. They depend only on the number of values. `stream` gives the two sides of a ratio
// independent random numbers.
std::vector<Middle> draws(std::size_t count, unsigned stream) {
  std::mt19937 random(20'240'501u + stream);
  std::vector<std::size_t> times(count);  // how often each value was drawn: a counting sort
  std::vector<Middle> all(kResamples);
  for (Middle& middle : all) {
    std::fill(times.begin(), times.end(), 0);
    // Not std::uniform_int_distribution, whose results differ between standard libraries.
    for (std::size_t k = 0; k < count; ++k) ++times[static_cast<std::size_t>((std::uint64_t{random()} * count) >> 32)];
    std::size_t place = 0, drawn = times[0];
    const auto next_of_rank = [&](std::size_t rank) {
      while (drawn <= rank) drawn += times[++place];
      return place;
    };
    middle.lower = next_of_rank((count - 1) / 2);
    middle.upper = next_of_rank(count / 2);
  }
  return all;
}

// Cached: all figures with the same number of repeats share the draws.
const std::vector<Middle>& known_draws(std::size_t count, unsigned stream) {
  thread_local std::map<std::pair<std::size_t, unsigned>, std::vector<Middle>> known;
  std::vector<Middle>& all = known[{count, stream}];
  if (all.empty()) all = draws(count, stream);
  return all;
}

double median_of(const std::vector<double>& sorted, const Middle& middle) {
  return (sorted[middle.lower] + sorted[middle.upper]) / 2;
}

Interval percentiles(std::vector<double>& medians) {
  const auto at = [&](double share) {
    const auto place = medians.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(medians.size() - 1));
    std::nth_element(medians.begin(), place, medians.end());
    return *place;
  };
  const double low = at(kTail), high = at(1 - kTail);
  return {low, high};
}

// How often each pair of middle elements was drawn. Cached.
const std::map<Middle, std::size_t>& middle_counts(std::size_t count) {
  thread_local std::map<std::size_t, std::map<Middle, std::size_t>> known;
  std::map<Middle, std::size_t>& counts = known[count];
  if (counts.empty())
    for (const Middle& middle : draws(count, 0)) ++counts[middle];
  return counts;
}

}  // namespace

Interval median_interval(const std::vector<double>& sorted) {
  // With up to five values, the smallest and the largest are each the median of more than 2.5 % of all resamples.
  if (sorted.size() <= 5) return {sorted.front(), sorted.back()};
  std::vector<std::pair<double, std::size_t>> medians;
  for (const auto& [middle, times] : middle_counts(sorted.size())) medians.emplace_back(median_of(sorted, middle), times);
  std::sort(medians.begin(), medians.end());
  const auto at = [&](double share) {
    auto left = static_cast<std::size_t>(share * static_cast<double>(kResamples - 1)) + 1;
    for (const auto& [median, times] : medians) {
      if (left <= times) return median;
      left -= times;
    }
    return medians.back().first;
  };
  return {at(kTail), at(1 - kTail)};
}

Interval ratio_interval(const std::vector<double>& upper, const std::vector<double>& lower) {
  const std::vector<Middle>&above = known_draws(upper.size(), 1), &below = known_draws(lower.size(), 2);
  std::vector<double> ratios(kResamples);
  for (std::size_t k = 0; k < kResamples; ++k) ratios[k] = median_of(upper, above[k]) / median_of(lower, below[k]);
  return percentiles(ratios);
}

}  // namespace mgcompare
