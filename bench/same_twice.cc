// False-positive rate of a report's comparison rule: how often it finds a difference between two names of one strategy. Reads
// the folder of a run. Groups of repeats are disjoint and consecutive in time, as in runs with that few seeds.

#include <fmt/core.h>

#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "reports/statistics.h"
#include "results/results_store.h"

namespace mgcompare {
namespace {

// samples/s of both names for each seed.
using Pairs = std::vector<std::pair<double, double>>;

struct Count {
  std::size_t comparisons = 0, decided = 0;
};

// Seeds for which both names have a finished trial, in the order of the blocks.
Pairs pairs_of(const Run& run) {
  std::map<std::string, std::map<int, double>> labels;
  for (const Row& row : run.rows) {
    if (row.result.status == TrialStatus::done && row.state == RowState::finished && row.trial.bracket == 0)
      labels[row.trial.strategy.label][row.trial.block] = row.result.samples_per_second;
  }
  if (labels.size() != 2)
    throw Error(fmt::format("{}: finished trials have {} strategy names instead of 2; pass a run of configs/same_twice.yaml",
                            run.directory, labels.size()));
  Pairs pairs;
  const auto &one = labels.begin()->second, &other = labels.rbegin()->second;
  for (const auto& [block, rate] : one)
    if (const auto found = other.find(block); found != other.end()) pairs.emplace_back(rate, found->second);
  return pairs;
}

// Compares groups of `repeats` pairs, with the rates of the second name multiplied by `factor`.
Count count(const Pairs& pairs, std::size_t repeats, double factor) {
  Count count;
  for (std::size_t begin = 0; begin + repeats <= pairs.size(); begin += repeats) {
    std::vector<double> one, other;
    for (std::size_t i = begin; i < begin + repeats; ++i) {
      one.push_back(pairs[i].first);
      other.push_back(factor * pairs[i].second);
    }
    ++count.comparisons;
    count.decided += compare(spread_of(one), spread_of(other)) != Order::undecided ? 1 : 0;
  }
  return count;
}

// P(X <= max) for X binomial with n trials of probability `share`.
double binomial_cdf(std::size_t max, std::size_t n, double share) {
  if (share <= 0 || share >= 1) return share <= 0 || max >= n ? 1 : 0;
  double chance = 0;
  for (std::size_t k = 0; k <= max; ++k) {
    const auto a = static_cast<double>(k), b = static_cast<double>(n - k);
    const double ways = std::lgamma(a + b + 1) - std::lgamma(a + 1) - std::lgamma(b + 1);
    chance += std::exp(ways + a * std::log(share) + b * std::log1p(-share));
  }
  return chance;
}

// The share in [0, 1] at which a decreasing function falls below `limit`, by bisection.
double crossing(const std::function<double(double)>& chance, double limit) {
  double low = 0, high = 1;
  for (int k = 0; k < 60; ++k) {
    const double middle = (low + high) / 2;
    (chance(middle) > limit ? low : high) = middle;
  }
  return low;
}

// Clopper-Pearson interval (1934) of the share that was decided, 95 %.
std::pair<double, double> interval(const Count& count) {
  const std::size_t n = count.comparisons, k = count.decided;
  const double low = k == 0 ? 0 : crossing([&](double share) { return binomial_cdf(k - 1, n, share); }, 0.975);
  const double high = k == n ? 1 : crossing([&](double share) { return binomial_cdf(k, n, share); }, 0.025);
  return {low, high};
}

void report(const std::string& directory) {
  const Pairs pairs = pairs_of(read_run(directory));
  fmt::print("{} repeats of one strategy under two names\n", pairs.size());
  fmt::print("{:>8} {:>12} {:>11} {:>7} {:>19} {:>15} {:>15}\n", "repeats", "comparisons", "told apart", "rate",
             "95 % interval", "found at 1.05x", "found at 1.20x");
  for (const std::size_t repeats : {3, 4, 5, 8, 9, 10, 20}) {
    const Count same = count(pairs, repeats, 1);
    if (same.comparisons == 0) continue;
    const auto rate = [](const Count& count) {
      return 100 * static_cast<double>(count.decided) / static_cast<double>(count.comparisons);
    };
    const auto [low, high] = interval(same);
    fmt::print("{:>8} {:>12} {:>11} {:>5.1f} % {:>6.1f} % .. {:>5.1f} % {:>13.1f} % {:>13.1f} %\n", repeats,
               same.comparisons, same.decided, rate(same), 100 * low, 100 * high, rate(count(pairs, repeats, 1.05)),
               rate(count(pairs, repeats, 1.2)));
  }
}

}  // namespace
}  // namespace mgcompare

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "bench_same_twice DIR: a run's folder, of configs/same_twice.yaml\n");
    return 2;
  }
  try {
    mgcompare::report(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 4;
  }
}
