#include "reports/coincidence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "reports/student.h"

namespace mgcompare {
namespace {

constexpr double kChance = 0.05;
constexpr std::size_t kLeastPairs = 3;
constexpr double kSamplesOnBorders = 2, kRounding = 1e-9;

std::vector<double> accuracies(const Cell& cell, std::size_t epoch) {
  std::vector<double> values;
  for (const Row* row : cell.done)
    if (epoch < row->result.epochs.size()) values.push_back(row->result.epochs[epoch].accuracy);
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  return values;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double squares_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  return std::accumulate(values.begin(), values.end(), 0.0, [&](double sum, double value) { return sum + (value - mean) * (value - mean); });
}

// Of the seeds that both have, in the order of those of `one`.
std::vector<double> differences(const Cell& one, const Cell& other, std::size_t epoch) {
  std::vector<double> all;
  for (const Row* row : one.done)
    for (const Row* its : other.done)
      if (row->trial.seed == its->trial.seed && epoch < row->result.epochs.size() && epoch < its->result.epochs.size())
        all.push_back(row->result.epochs[epoch].accuracy - its->result.epochs[epoch].accuracy);
  std::erase_if(all, [](double value) { return !std::isfinite(value); });
  return all;
}

EpochDifference paired_difference(std::size_t epoch, const std::vector<double>& all, double chance, double samples) {
  const auto count = static_cast<double>(all.size());
  const double spread = std::sqrt(squares_of(all) / (count - 1) / count);
  return {epoch + 1, mean_of(all), std::max(student_bound(chance, all.size() - 1) * spread, samples > 0 ? kSamplesOnBorders * (1 + kRounding) / samples : 0)};
}

// Of accuracies that are not of equal seeds, or of too few.
EpochDifference difference_of_means(std::size_t epoch, const std::vector<double>& mine, const std::vector<double>& its, double chance, double samples) {
  const double p = std::clamp((mean_of(mine) + mean_of(its)) / 2, 0.0, 1.0);
  const double sampling = samples > 0 ? 2 * p * (1 - p) / samples : 0;
  double variance = 0;
  if (const std::size_t degrees = mine.size() + its.size() - 2; degrees > 0) {
    const double pooled = (squares_of(mine) + squares_of(its)) / static_cast<double>(degrees);
    const double spread = pooled * (1 / static_cast<double>(mine.size()) + 1 / static_cast<double>(its.size()));
    variance = spread * std::pow(student_bound(chance, degrees), 2);
  }
  return {epoch + 1, mean_of(mine) - mean_of(its), std::sqrt(variance + sampling * std::pow(normal_bound(chance), 2))};
}

std::size_t epochs_of(const Cell& cell) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const Row* row : cell.done) least = std::min(least, row->result.epochs.size());
  return cell.done.empty() ? 0 : least;
}

// The smallest number of any repeat; 0: one of them does not tell it.
double test_samples(const Cell& one, const Cell& other) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const Cell* cell : {&one, &other})
    for (const Row* row : cell->done) least = std::min(least, row->result.samples_evaluated);
  return static_cast<double>(least);
}

}  // namespace

bool Coincidence::coincides() const { return !epochs.empty() && std::abs(worst.difference) <= worst.bound; }

Coincidence coincidence_of(const Cell& one, const Cell& other, bool by_seed) {
  Coincidence found{&one, &other, {}, {}, false, false};
  const std::size_t repeats = one.done.size() + other.done.size();
  if (one.done.empty() || other.done.empty()) return found;
  const double samples = test_samples(one, other);
  found.has_seeds = repeats > 2;
  const std::size_t epochs = std::min(epochs_of(one), epochs_of(other));
  if (!found.has_seeds && samples == 0) return found;
  const double chance = kChance / static_cast<double>(std::max<std::size_t>(1, epochs));
  double worst = -1;
  for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
    const std::vector<double> mine = accuracies(one, epoch), its = accuracies(other, epoch);
    if (mine.empty() || its.empty()) continue;
    const std::vector<double> pairs = by_seed ? differences(one, other, epoch) : std::vector<double>();
    found.is_paired = pairs.size() >= kLeastPairs;
    const EpochDifference now = found.is_paired ? paired_difference(epoch, pairs, chance, samples) : difference_of_means(epoch, mine, its, chance, samples);
    found.epochs.push_back(now);
    // Equal accuracies coincide, whatever the bound is.
    const double size = now.difference == 0 ? 0 : now.bound > 0 ? std::abs(now.difference) / now.bound : std::numeric_limits<double>::infinity();
    if (size <= worst) continue;
    worst = size;
    found.worst = now;
  }
  return found;
}

}  // namespace mgcompare
