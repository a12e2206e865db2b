#include "reports/straggler.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/median.h"

namespace mgcompare {
namespace {

constexpr double kSlower = 1.10;
constexpr double kAlike = 0.05;     // of the training: the largest difference of waiting between ranks that wait alike

// Of each rank, over all repeats.
struct RankSeconds {
  std::vector<double> compute, waiting;
  double training = 0;
};

// None if ranks were not measured reliably, or train at their own pace.
std::optional<RankSeconds> seconds_by_rank(const Cell& cell) {
  const std::size_t ranks = cell.done.empty() ? 0 : cell.done.front()->result.ranks.size();
  if (ranks < 2 || !cell.breakdown.reliable() || cell.runs_freely) return std::nullopt;
  RankSeconds all{std::vector<double>(ranks), std::vector<double>(ranks), 0};
  for (const Row* row : cell.done) {
    if (row->result.ranks.size() != ranks) return std::nullopt;
    for (std::size_t r = 0; r < ranks; ++r)
      all.compute[r] += row->result.ranks[r].compute, all.waiting[r] += row->result.ranks[r].waiting;
    all.training += row->result.seconds_training;
  }
  return all;
}

// Of the longest compute time to that of the median rank; with two ranks to the other's. 0: not known.
double longest_over_usual(const std::vector<double>& compute) {
  const double usual = compute.size() == 2 ? *std::min_element(compute.begin(), compute.end()) : median(compute);
  return usual > 0 ? *std::max_element(compute.begin(), compute.end()) / usual : 0;
}

}  // namespace

std::optional<Straggler> straggler(const Cell& cell) {
  const std::optional<RankSeconds> seconds = seconds_by_rank(cell);
  if (!seconds) return std::nullopt;
  const auto& [compute, waiting, training] = *seconds;
  const double ratio = longest_over_usual(compute);
  if (ratio <= kSlower) return std::nullopt;
  const auto largest = std::max_element(compute.begin(), compute.end());
  const auto rank = static_cast<std::size_t>(largest - compute.begin());
  const double waited = std::accumulate(waiting.begin(), waiting.end(), -waiting[rank]) / static_cast<double>(waiting.size() - 1);
  // If the others wait for it, they wait longer than itself, by about what it computes longer. Otherwise all wait for something else.
  if (waited - waiting[rank] < 0.5 * (*largest - *largest / ratio)) return std::nullopt;
  return Straggler{rank, ratio, waited / training};
}

bool waits_in_turn(const Cell& cell) {
  const std::optional<RankSeconds> seconds = seconds_by_rank(cell);
  if (!seconds) return false;
  const double ratio = longest_over_usual(seconds->compute);
  const auto [least, most] = std::minmax_element(seconds->waiting.begin(), seconds->waiting.end());
  return ratio > 0 && ratio <= kSlower && *most > 0 && *most - *least <= kAlike * seconds->training;
}

}  // namespace mgcompare
