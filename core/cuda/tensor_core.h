#pragma once

// Tensor-core products of one warp, sums in float32: D (16 x 8) += A (16 x 8) B (8 x 8) of factors in tf32 (mma.m16n8k8), and D += A
// (16 x 16) B (16 x 8) of factors in bf16 (mma.m16n8k16). Lane l has row = l / 4 and column = l % 4 of its fragments. For nvcc only.

#include <cuda_bf16.h>

namespace mgcompare::cuda {

__device__ inline float to_tf32(float value) {
#if __CUDA_ARCH__ >= 800
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return __uint_as_float(bits);
#else
  return value;
#endif
}

// a: (row, column), (row + 8, column), (row, column + 4), (row + 8, column + 4). b: (column, row), (column + 4, row).
// d: (row, 2 column), (row, 2 column + 1), (row + 8, 2 column), (row + 8, 2 column + 1).
__device__ inline void multiply_add(float (&d)[4], const float (&a)[4], const float (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
        "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
#endif
}

// Two factors of neighbouring terms in one register, as the product of bf16 takes them.
__device__ inline unsigned paired(__nv_bfloat16 low, __nv_bfloat16 high) {
  return __bfloat16_as_ushort(low) | static_cast<unsigned>(__bfloat16_as_ushort(high)) << 16;
}

// Pairs of terms. a: (row, 2 column), (row + 8, 2 column), (row, 2 column + 8), (row + 8, 2 column + 8). b: (2 column, row), (2 column
// + 8, row). d as above.
__device__ inline void multiply_add(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

}  // namespace mgcompare::cuda
