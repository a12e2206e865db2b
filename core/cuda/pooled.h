#pragma once

// What max pooling keeps of a window of 2 x 2; included by nvcc only.

namespace mgcompare::cuda {

struct Pooled {
  float value;
  unsigned place;  // in the window, the first of equal ones
};

__device__ inline Pooled largest_of(const float (&values)[4]) {
  Pooled best{values[0], 0};
#pragma unroll
  for (unsigned p = 1; p < 4; ++p) {
    // NaN wins, or a diverged network could look healthy.
    if (values[p] <= best.value || best.value != best.value) continue;
    best.value = values[p];
    best.place = p;
  }
  return best;
}

}  // namespace mgcompare::cuda
