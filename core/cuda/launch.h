#pragma once

// Kernel launches and common device functions. For nvcc only.

#include <algorithm>
#include <cstddef>

#include "cuda/capability.h"
#include "cuda/status.h"

namespace mgcompare::cuda {

inline constexpr unsigned kThreads = 256;

// One thread per element, up to a number of blocks that fills any GPU; kernels use grid-stride loops.
inline unsigned blocks_for(std::size_t elements) {
  return static_cast<unsigned>(std::min<std::size_t>((elements + kThreads - 1) / kThreads, 132 * 16));
}

__device__ inline std::size_t first_index() { return blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; }
__device__ inline std::size_t index_stride() { return gridDim.x * static_cast<std::size_t>(blockDim.x); }

// Programmatic dependent launch: a kernel started by launch() may begin while the previous kernel of the stream still runs.
// It must call this before it accesses data that other kernels read or write. Such data must be loaded by plain loads or
// __ldcg, not by __ldg, whose cache may be stale.
__device__ inline void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

// Launches a kernel that calls wait_for_previous_kernel(), with `bytes` bytes of dynamic shared memory.
template <class... Parameters, class... Arguments>
void launch(cudaStream_t stream, dim3 grid, unsigned threads, std::size_t bytes, void (*kernel)(Parameters...),
            const Arguments&... arguments) {
  cudaLaunchAttribute dependent{};
  dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  dependent.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = &dependent;
  config.numAttrs = supports_dependent_launch() ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), "launching a kernel");
}

// Allows a kernel to use `bytes` of dynamic shared memory; returns false if the device has too little. Requests the maximal
// carve-out, because kernels run concurrently on a multiprocessor only if they use the same carve-out.
template <class Kernel> bool request_shared_memory(Kernel kernel, unsigned bytes) {
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)) ==
          cudaSuccess &&
      cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared) ==
          cudaSuccess)
    return true;
  cudaGetLastError();
  return false;
}

namespace kernels {
template <class F> __global__ void for_each_index(std::size_t n, F f) {
  wait_for_previous_kernel();
  for (std::size_t i = first_index(); i < n; i += index_stride()) f(i);
}
}  // namespace kernels

// Runs f(i) on the device for i in [0, n).
template <class F> void for_each_index(cudaStream_t stream, std::size_t n, F f) {
  if (n == 0) return;
  launch(stream, blocks_for(n), kThreads, 0, kernels::for_each_index<F>, n, f);
}

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

// Sum over the block, returned in thread 0. Deterministic. blockDim.x must be a multiple of 32, at most 1024.
__device__ inline float block_sum(float value) {
  __shared__ float partial[32];
  value = warp_sum(value);
  __syncthreads();  // `partial` of an earlier call may still be in use
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  return warp_sum(threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f);
}

}  // namespace mgcompare::cuda
