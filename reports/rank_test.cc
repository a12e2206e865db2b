#include "reports/rank_test.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace mgcompare {
namespace {

constexpr std::size_t kExact = 50;

// counts[u]: the number of orders of n + m values in which U is u. The largest value is either one of the n, above all m, or
// one of the m: f(n, m, u) = f(n - 1, m, u - m) + f(n, m - 1, u).
std::vector<double> orders(std::size_t n, std::size_t m) {
  std::vector<std::vector<double>> previous(m + 1, {1.0});  // with none of the n, U is 0
  for (std::size_t i = 1; i <= n; ++i) {
    std::vector<std::vector<double>> current(m + 1);
    current[0] = {1.0};
    for (std::size_t j = 1; j <= m; ++j) {
      current[j].assign(i * j + 1, 0);
      for (std::size_t u = 0; u < previous[j].size(); ++u) current[j][u + j] += previous[j][u];
      for (std::size_t u = 0; u < current[j - 1].size(); ++u) current[j][u] += current[j - 1][u];
    }
    previous = std::move(current);
  }
  return previous[m];
}

double exact_chance(std::size_t n, std::size_t m, double u) {
  const std::vector<double> counts = orders(n, m);
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  double tail = 0;
  for (std::size_t k = 0; static_cast<double>(k) <= u && k < counts.size(); ++k) tail += counts[k];
  return std::min(1.0, 2 * tail / all);
}

}  // namespace

double mann_whitney(const std::vector<double>& one, const std::vector<double>& other) {
  std::vector<std::pair<double, bool>> all;  // value, whether of the first side
  for (const double value : one) all.emplace_back(value, true);
  for (const double value : other) all.emplace_back(value, false);
  std::sort(all.begin(), all.end());
  const auto n = static_cast<double>(one.size()), m = static_cast<double>(other.size()), both = n + m;
  double ranks = 0, ties = 0;
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin;
    while (end < all.size() && all[end].first == all[begin].first) ++end;
    const double rank = static_cast<double>(begin + 1 + end) / 2, same = static_cast<double>(end - begin);
    for (std::size_t k = begin; k < end; ++k) ranks += all[k].second ? rank : 0;
    ties += same * same * same - same;
    begin = end;
  }
  const double above = ranks - n * (n + 1) / 2, u = std::min(above, n * m - above);
  if (ties == 0 && std::max(one.size(), other.size()) <= kExact) return exact_chance(one.size(), other.size(), u);
  const double variance = n * m / 12 * (both + 1 - ties / (both * (both - 1)));
  if (!(variance > 0)) return 1;
  const double z = std::max(0.0, n * m / 2 - u - 0.5) / std::sqrt(variance);
  return std::erfc(z / std::sqrt(2.0));
}

std::vector<double> holm(const std::vector<double>& chances) {
  std::vector<std::size_t> order(chances.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return chances[a] < chances[b]; });
  std::vector<double> raised(chances.size());
  double largest = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    largest = std::max(largest, static_cast<double>(order.size() - k) * chances[order[k]]);
    raised[order[k]] = std::min(1.0, largest);
  }
  return raised;
}

}  // namespace mgcompare
