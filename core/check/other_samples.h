#pragma once

// A sample that a rank can get in place of one of its own, to see whether a model depends on it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "data/dataset.h"
#include "mgcompare/types.h"

namespace mgcompare {

// Whether all samples have the same values and targets.
bool are_all_equal(const Split& split);

// The order of the samples in an epoch of a training with this seed, but another sample at one position: with other values or another
// target, because data can have the same one several times. Nothing if there is none.
std::optional<std::vector<std::uint32_t>> order_with_other(const Split& split, std::uint64_t seed, std::size_t epoch, std::size_t position);

// The split in which the samples at these positions of the epoch's order have values and targets of such others. Nothing if there are none.
std::optional<Split> with_others(const Split& split, std::uint64_t seed, std::size_t epoch, Range positions);

// Places in an epoch, by positions: a quarter of a batch each, in the first and in the second half of the batches of two consecutive steps. They
// are drawn with the seed, without the last two steps, whose gradients an approximate strategy may apply later. None if an epoch has fewer than
// four steps.
std::vector<Range> places_of_epoch(std::size_t samples, std::size_t batch, std::uint64_t seed);

}  // namespace mgcompare
