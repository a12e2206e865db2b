#pragma once

// Second stage of a reduction over many blocks: each block has written its partial sums, which are added in a fixed order.

#include <cstddef>

#include "cuda/status.h"

namespace mgcompare::cuda {

// sums[i] = sum over the rows of partial[row][i]; `partial` is (blocks, size).
void sum_partials(cudaStream_t stream, const float* partial, std::size_t blocks, std::size_t size, float* sums);

}  // namespace mgcompare::cuda
