#pragma once

// Building blocks of the SDK's CUDA kernels and of those of shipped plugins. Compiled by nvcc only.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "mgcompare/device.h"

namespace mgcompare::cuda::arithmetic {

inline constexpr unsigned kThreads = 256;

inline cudaStream_t stream_of(Device& device) { return static_cast<cudaStream_t>(device.stream()); }

inline void check_launch() {
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) throw Error(std::string("CUDA refused a strategy's kernel: ") + cudaGetErrorString(status));
}

inline unsigned blocks_for(std::size_t n) {
  const std::size_t blocks = (n + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks < 2112 ? blocks : 2112);
}

// True in the last of `blocks` blocks that call this. All threads of that block then see what all threads of the other
// blocks wrote before. Every thread calls it; `arrived` is zero before and after. One thread fences for its block: the
// barrier orders the block's writes before the first fence, which with the atomic addition publishes them to the device.
// The last block's second fence acquires what the other additions published, and the barrier after it extends that to the
// block's other threads. Read with plain loads or __ldcg; __ldg uses a cache that ignores fences.
__device__ inline bool last_to_arrive(unsigned* arrived, unsigned blocks) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    __threadfence();
    last = atomicAdd(arrived, 1u) == blocks - 1;
    if (last) *arrived = 0;
    __threadfence();
  }
  __syncthreads();
  return last;
}

// The sum over a warp's lanes l, l + kApart, l + 2 kApart, ..., returned to each of them. T consists of floats and has +=.
template <unsigned kApart, class T> __device__ T sum_of_lanes(T sum) {
#pragma unroll
  for (unsigned offset = 16; offset >= kApart; offset /= 2) {
    T other;
#pragma unroll
    for (unsigned k = 0; k < sizeof(T) / sizeof(float); ++k)
      reinterpret_cast<float*>(&other)[k] = __shfl_xor_sync(0xffffffffu, reinterpret_cast<const float*>(&sum)[k], offset);
    sum += other;
  }
  return sum;
}

// The same over all threads of a block that share threadIdx.y, in a fixed order.
template <unsigned kApart, class T> __device__ T sum_of_warps(T sum) {
  __shared__ alignas(16) unsigned char memory[32 * kApart * sizeof(T)];
  const unsigned lane = threadIdx.x % 32, warps = blockDim.x / 32;
  T* const sums = reinterpret_cast<T*>(memory) + threadIdx.y * warps * kApart;
  sum = sum_of_lanes<kApart>(sum);
  if (warps == 1) return sum;
  __syncthreads();  // an earlier sum's values have been read
  if (lane < kApart) sums[threadIdx.x / 32 * kApart + lane] = sum;
  __syncthreads();
  T all{};
  for (unsigned k = lane; k < warps * kApart; k += 32) all += sums[k];
  return sum_of_lanes<kApart>(all);
}

}  // namespace mgcompare::cuda::arithmetic
