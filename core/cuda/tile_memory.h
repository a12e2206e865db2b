#pragma once

// Shared-memory layout of the tile kernels: copies images and weights into shared memory, and locates the terms of a window.
// For nvcc only.

#include <cuda_pipeline.h>

#include "cuda/tensor_core.h"
#include "cuda/tile_kernels.h"

namespace mgcompare::cuda::tile {

inline constexpr unsigned kArea = kSize * kSize;
inline constexpr unsigned kTermsPadded = (kTerms + 7) / 8 * 8;          // 504
static_assert(kRowOfTerms == kTermsPadded + 4);

// Offset of term t of a window from the window's first pixel.
__device__ inline unsigned term_offset(unsigned t) {
  return t >= kTerms ? 0 : t / kTaps * kArea + t % kTaps / kKernel * kSize + t % kKernel;
}

// __ldcg lets the compiler issue several loads before the first store.
__device__ inline void load_image(float* to, const float* from) {
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < kPixels / 4; i += blockDim.x) {
    const float4 four = __ldcg(reinterpret_cast<const float4*>(from) + i);
    reinterpret_cast<float4*>(to)[i] = make_float4(to_tf32(four.x), to_tf32(four.y), to_tf32(four.z), to_tf32(four.w));
  }
}

// Starts an asynchronous copy; complete after __pipeline_wait_prior(0) and a barrier.
__device__ inline void start_copy(float* to, const float* from, unsigned floats) {
  for (unsigned i = threadIdx.x * 4; i < floats; i += blockDim.x * 4) __pipeline_memcpy_async(to + i, from + i, 16);
  __pipeline_commit();
}

}  // namespace mgcompare::cuda::tile
