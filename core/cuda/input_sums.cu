#include "cuda/input_sums.h"

#include "cuda/launch.h"
#include "cuda/pack.h"

namespace mgcompare::cuda {
namespace {

// Block: an input.
template <class T>
__global__ void __launch_bounds__(kThreads) sum_products(unsigned outputs, unsigned inputs, unsigned places, const float* filter,
                                                         const float* filter_gradient, const float* bias_gradient, float* sums) {
  const unsigned input = blockIdx.x;
  wait_for_previous_kernel();
  float slopes = 0, products = 0;
  for (unsigned i = threadIdx.x; i < outputs * places; i += blockDim.x) {
    const unsigned output = i / places;
    const std::size_t at = (static_cast<std::size_t>(output) * inputs + input) * places + i % places;
    const float weight = widened(narrowed<T>(filter[at]));
    slopes += weight * bias_gradient[output];
    products += weight * filter_gradient[at];
  }
  slopes = block_sum(slopes);
  products = block_sum(products);
  if (threadIdx.x != 0) return;
  sums[input] = slopes;
  sums[inputs + input] = products;
}

}  // namespace

void input_sums(cudaStream_t stream, const Matrices& filters, Element factors, const float* filter, const float* filter_gradient,
                const float* bias_gradient, float* sums) {
  const auto number = [](std::size_t value) { return static_cast<unsigned>(value); };
  with_element(factors, [&](auto type) {
    launch(stream, number(filters.rows), kThreads, 0, sum_products<decltype(type)>, number(filters.count), number(filters.rows),
           number(filters.columns), filter, filter_gradient, bias_gradient, sums);
  });
}

}  // namespace mgcompare::cuda
