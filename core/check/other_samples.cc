#include "check/other_samples.h"

#include <algorithm>

#include "data/order.h"

namespace mgcompare {
namespace {

bool are_equal(const Split& split, std::size_t one, std::size_t other) {
  const std::size_t bytes = split.values.size() / split.samples, targets = split.targets.size() / split.samples;
  const auto same = [&](const auto* values, std::size_t size) { return std::equal(values + one * size, values + (one + 1) * size, values + other * size); };
  return same(split.values.data(), bytes) && same(split.targets.data(), targets);
}

}  // namespace

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

}  // namespace mgcompare
