#include "check/other_samples.h"

#include <algorithm>
#include <numeric>

#include "check/drawn_samples.h"
#include "check/verify_scope.h"
#include "data/order.h"
#include "mgcompare/random.h"

namespace mgcompare {
namespace {

bool are_equal(const Split& split, std::size_t one, std::size_t other) {
  const std::size_t bytes = split.values.size() / split.samples, targets = split.targets.size() / split.samples;
  const auto same = [&](const auto* values, std::size_t size) { return std::equal(values + one * size, values + (one + 1) * size, values + other * size); };
  return same(split.values.data(), bytes) && same(split.targets.data(), targets);
}

}  // namespace

bool are_all_equal(const Split& split) {
  for (std::size_t other = 1; other < split.samples; ++other)
    if (!are_equal(split, 0, other)) return false;
  return true;
}

std::optional<std::vector<std::uint32_t>> order_with_other(const Split& split, std::uint64_t seed, std::size_t epoch, std::size_t position) {
  std::vector<std::uint32_t> order = epoch_order(split.samples, seed, epoch);
  // First those of the other half of the epoch, which no rank learns from at the same time.
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::uint32_t other = order[(position + order.size() / 2 + k) % order.size()];
    if (are_equal(split, order[position], other)) continue;
    order[position] = other;
    return order;
  }
  return std::nullopt;
}

std::optional<Split> with_others(const Split& split, std::uint64_t seed, std::size_t epoch, Range positions) {
  const std::vector<std::uint32_t> order = epoch_order(split.samples, seed, epoch);
  std::vector<std::uint32_t> numbers(split.samples);
  std::iota(numbers.begin(), numbers.end(), 0u);
  for (std::size_t position = positions.begin; position < positions.end; ++position) {
    const auto others = order_with_other(split, seed, epoch, position);
    if (!others) return std::nullopt;
    numbers[order[position]] = others->at(position);
  }
  return samples_at(split, numbers);
}

std::vector<Range> places_of_epoch(std::size_t samples, std::size_t batch, std::uint64_t seed) {
  const std::size_t steps = divided_up(samples, batch);
  if (steps < 4) return {};
  const Random random(seed, 0);
  const std::size_t first = random.below(0, steps - 3), half = batch / 2, size = std::max<std::size_t>(1, batch / 4);
  std::vector<Range> places;
  for (std::size_t k = 0; k < 4; ++k) {
    const std::size_t begin = (first + k / 2) * batch + k % 2 * half + random.below(k + 1, std::max<std::size_t>(1, half - size + 1));
    places.push_back({begin, begin + size});
  }
  return places;
}

}  // namespace mgcompare
