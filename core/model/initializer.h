#pragma once

// Initial weights of one tensor.

#include <cstddef>

#include "config/config.h"
#include "mgcompare/random.h"
#include "mgcompare/types.h"

namespace mgcompare {

// Fills host memory. `fan_in`: inputs of one output, `fan_out`: outputs that read one input (both times the kernel's
// size for a convolution).
void initialize(Vec tensor, const InitializerConfig& initializer, std::size_t fan_in, std::size_t fan_out,
                const Random& random);

// Fills a row-major matrix in host memory: its columns become orthonormal, or its rows if it is wide. Bitwise equal everywhere.
void initialize_orthogonal(Vec tensor, std::size_t rows, std::size_t columns, const Random& random);

}  // namespace mgcompare
