#pragma once

// A sample that a rank can get in place of one of its own, to see whether a model depends on it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "data/dataset.h"

namespace mgcompare {

// The order of the samples in an epoch of a training with this seed, but another sample at one position: with other values or another
// target, because data can have the same one several times. Nothing if there is none.
std::optional<std::vector<std::uint32_t>> order_with_other(const Split& split, std::uint64_t seed, std::size_t epoch, std::size_t position);

}  // namespace mgcompare
