#pragma once

// One set of kernels for each instruction set that the program carries.

#include "cpu/kernels.h"

namespace mgcompare {

namespace avx512 {
extern const Kernels kKernels;
}
namespace avx2 {
extern const Kernels kKernels;
}
namespace plain {
extern const Kernels kKernels;
}

}  // namespace mgcompare
