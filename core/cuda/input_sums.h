#pragma once

// Sums over the gradient of a convolution's input x, without reading it. Without padding, each place of the filter meets one element of x
// for each element of the output. So with the filter w (output o, input c, place k), its gradient dw, and db, the sums of the output's
// gradient, the sums over samples and pixels are, for channel c of the input:
//   of dx        the sum over o and k of w * db[o]
//   of dx * x    the sum over o and k of w * dw
// Batch normalisation whose output x is needs both, and reads two tensors for them otherwise.

#include <cuda_runtime_api.h>

#include "cuda/element.h"
#include "cuda/transpose.h"

namespace mgcompare::cuda {

// `filters`: (outputs, inputs, places). `factors`: the type in which the products had the filter. `sums` gets those of dx, then those of
// dx * x, each for all inputs. Deterministic.
void input_sums(cudaStream_t stream, const Matrices& filters, Element factors, const float* filter, const float* filter_gradient,
                const float* bias_gradient, float* sums);

}  // namespace mgcompare::cuda
