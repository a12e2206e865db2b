#include "cpu/kernels.h"

#include "cpu/kernels_sets.h"

namespace mgcompare {

const Kernels& kernels() {
#if defined(__x86_64__)
  static const Kernels& best = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                                       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")
                                   ? avx512::kKernels
                               : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? avx2::kKernels
                                                                                               : plain::kKernels;
  return best;
#else
  return plain::kKernels;
#endif
}

}  // namespace mgcompare
