#include "data/order.h"

#include <numeric>
#include <utility>

#include "mgcompare/random.h"

namespace mgcompare {

void draw_order(std::vector<std::uint32_t>& order, std::uint64_t seed, std::size_t epoch) {
  // Random streams distinct from those of initial weights and dropout.
  constexpr std::uint64_t kOrderStreams = 0x6f72646572000000ull;
  const Random random(seed, kOrderStreams + epoch);
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i, i)]);
}

std::vector<std::uint32_t> epoch_order(std::size_t samples, std::uint64_t seed, std::size_t epoch) {
  std::vector<std::uint32_t> order(samples);
  draw_order(order, seed, epoch);
  return order;
}

}  // namespace mgcompare
