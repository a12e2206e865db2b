#pragma once

// The kernels of each instruction set; kernels() selects one.

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
