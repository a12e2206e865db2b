#pragma once

// Maximum of a 2 x 2 pooling window. For nvcc only.

namespace mgcompare::cuda {

struct WindowMax {
  float value;
  unsigned place;  // index in the window, the first of equal values
};

__device__ inline WindowMax window_max(const float (&values)[4]) {
  WindowMax best{values[0], 0};
#pragma unroll
  for (unsigned p = 1; p < 4; ++p) {
    // NaN must propagate, or divergence could go unnoticed.
    if (values[p] <= best.value || best.value != best.value) continue;
    best.value = values[p];
    best.place = p;
  }
  return best;
}

}  // namespace mgcompare::cuda
