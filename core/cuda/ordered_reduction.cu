#include "cuda/ordered_reduction.h"

#include "cuda/launch.h"

namespace mgcompare::cuda {
namespace {

__device__ float widen(float value) { return value; }
__device__ float widen(Half value) { return value.value(); }
__device__ float widen(BFloat16 value) { return value.value(); }
__device__ std::uint32_t widen(std::uint8_t value) { return value; }
__device__ std::uint32_t widen(std::uint32_t value) { return value; }

template <class T, class Sum> __device__ T narrow(Sum sum) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return T::from(sum);
  else return static_cast<T>(sum);
}

template <class T> __global__ void add_ranks(OrderedReduction c) {
  for (std::size_t i = c.range.begin + first_index(); i < c.range.end; i += index_stride()) {
    auto sum = widen(static_cast<const T*>(c.from[0])[i]);
    for (std::size_t r = 1; r < c.sources; ++r) sum += widen(static_cast<const T*>(c.from[r])[i]);
    for (std::size_t k = 0; k < c.targets; ++k) static_cast<T*>(c.to[k])[i] = narrow<T>(sum);
  }
}

}  // namespace

void reduce_in_order(cudaStream_t stream, const OrderedReduction& c, Type type) {
  if (c.range.size() == 0) return;
  const unsigned blocks = blocks_for(c.range.size());
  switch (type) {
    case Type::float32: add_ranks<float><<<blocks, kThreads, 0, stream>>>(c); break;
    case Type::float16: add_ranks<Half><<<blocks, kThreads, 0, stream>>>(c); break;
    case Type::bfloat16: add_ranks<BFloat16><<<blocks, kThreads, 0, stream>>>(c); break;
    case Type::uint8: add_ranks<std::uint8_t><<<blocks, kThreads, 0, stream>>>(c); break;
    case Type::uint32: add_ranks<std::uint32_t><<<blocks, kThreads, 0, stream>>>(c); break;
  }
  check(cudaGetLastError(), "adding the vectors of several ranks");
}

void add_atomically(cudaStream_t stream, float* to, const float* from, std::size_t size) {
  for_each_index(stream, size, [=] __device__(std::size_t i) { atomicAdd_system(to + i, from[i]); });
}

}  // namespace mgcompare::cuda
