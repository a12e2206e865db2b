#pragma once

// How the weights of one tensor are drawn.

#include <cstddef>

#include "config/config.h"
#include "mgcompare/random.h"
#include "mgcompare/types.h"

namespace mgcompare {

// Fills host memory. `fan_in`: inputs of one output, `fan_out`: outputs that read one input (both times the kernel's
// size for a convolution). Throws Error for an unknown kind.
void initialize(Vec tensor, const InitializerConfig& initializer, std::size_t fan_in, std::size_t fan_out,
                const Random& random);

}  // namespace mgcompare
