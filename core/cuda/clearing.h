#pragma once

// Clears of memory inside captured steps. A graph takes about 10 us for a memset node between two kernels, of which cuDNN adds one for most
// convolutions, and 2 us for a kernel that does the same.

#include <cuda_runtime_api.h>

namespace mgcompare::cuda {

// Replaces the memset nodes of a graph by kernels, except those of several rows. Throws Error.
void clear_by_kernels(cudaGraph_t graph);

}  // namespace mgcompare::cuda
