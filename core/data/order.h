#pragma once

// The order of samples in an epoch, independent of strategy, kind of device and number of ranks.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mgcompare {

// A permutation of 0 .. samples-1, a function of (samples, seed, epoch) only.
std::vector<std::uint32_t> epoch_order(std::size_t samples, std::uint64_t seed, std::size_t epoch);
// The same in memory that exists: of order.size() samples.
void draw_order(std::vector<std::uint32_t>& order, std::uint64_t seed, std::size_t epoch);

}  // namespace mgcompare
