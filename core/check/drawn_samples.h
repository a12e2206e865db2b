#pragma once

// Which samples of the data a verification trains on: from all of it, because data may be sorted by class, and a fault may need samples far from its beginning.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace mgcompare {

// The numbers of `wanted` samples of so many, in ascending order: one from each of as many parts of equal length, drawn, and of the last part its last one.
std::vector<std::uint32_t> drawn_samples(std::size_t samples, std::size_t wanted, std::uint64_t seed);

// The samples with these numbers.
Split samples_at(const Split& split, const std::vector<std::uint32_t>& numbers);

// The set with drawn samples for training.
Dataset with_drawn_samples(Dataset set, std::size_t wanted, std::uint64_t seed);

}  // namespace mgcompare
