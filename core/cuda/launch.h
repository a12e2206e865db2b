#pragma once

// Starting kernels; included by nvcc only.

#include <algorithm>
#include <cstddef>

#include "cuda/capability.h"
#include "cuda/status.h"

namespace mgcompare::cuda {

inline constexpr unsigned kThreads = 256;

// One thread an element, up to a number of blocks that fills any GPU; kernels stride over the rest.
inline unsigned blocks_for(std::size_t elements) {
  return static_cast<unsigned>(std::min<std::size_t>((elements + kThreads - 1) / kThreads, 132 * 16));
}

__device__ inline std::size_t first_index() { return blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; }
__device__ inline std::size_t index_stride() { return gridDim.x * static_cast<std::size_t>(blockDim.x); }

// A kernel that launch() starts may begin while the one before it on the stream still runs. It calls this before it reads or
// writes what others do: then all that was queued before is done. It loads such data plainly or by __ldcg, not by __ldg, which
// asks a cache that may have been filled before.
__device__ inline void await_earlier() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

// Starts a kernel that calls await_earlier(), with `bytes` of dynamic shared memory.
template <class... Parameters, class... Arguments>
void launch(cudaStream_t stream, dim3 grid, unsigned threads, std::size_t bytes, void (*kernel)(Parameters...),
            const Arguments&... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = kernels_await() ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), "starting a kernel");
}

// Lets a kernel have so much shared memory; false where the device has not so much. Kernels run beside each other on a
// processor only where they divide its memory alike, so those that come here ask for the largest part.
template <class Kernel> bool allow(Kernel kernel, unsigned bytes) {
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)) == cudaSuccess &&
      cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared) == cudaSuccess)
    return true;
  cudaGetLastError();
  return false;
}

namespace kernels {
template <class F> __global__ void for_each_index(std::size_t n, F f) {
  await_earlier();
  for (std::size_t i = first_index(); i < n; i += index_stride()) f(i);
}
}  // namespace kernels

// f(i) on the device for i in [0, n).
template <class F> void for_each_index(cudaStream_t stream, std::size_t n, F f) {
  if (n == 0) return;
  launch(stream, blocks_for(n), kThreads, 0, kernels::for_each_index<F>, n, f);
}

__device__ inline float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

// The sum over the block, in thread 0; the same bits every time. blockDim.x is a multiple of 32, at most 1024.
__device__ inline float block_sum(float value) {
  __shared__ float partial[32];
  value = warp_sum(value);
  __syncthreads();  // an earlier sum may still be read
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  return warp_sum(threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f);
}

}  // namespace mgcompare::cuda
