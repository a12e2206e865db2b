#pragma once

// Gradients that many blocks sum together: each block writes its sum, and these are added in a fixed order.

#include <cstddef>

#include "cuda/status.h"

namespace mgcompare::cuda {

// sums[i] = partial[0][i] + partial[1][i] + ... over `blocks` rows of `size` values.
void add_partials(cudaStream_t stream, const float* partial, std::size_t blocks, std::size_t size, float* sums);

}  // namespace mgcompare::cuda
