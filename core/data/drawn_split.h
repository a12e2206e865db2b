#pragma once

// The samples of drawn image sets, with labels in turn.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "data/dataset.h"

namespace mgcompare {

// Writes the bytes of one sample. Called by two threads.
using DrawSample = std::function<void(std::size_t number, std::uint32_t label, std::uint8_t* bytes)>;

// The label of sample i is i % classes.
Split drawn_split(std::size_t samples, std::size_t classes, std::size_t bytes_per_sample, const DrawSample& draw_sample);

}  // namespace mgcompare
