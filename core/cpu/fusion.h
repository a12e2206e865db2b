#pragma once

// What follows a convolution, a dense layer or batch normalisation and is computed by it. The values in between stay in the cache and
// are never stored.

#include "cpu/kernels.h"
#include "model/spec.h"

namespace mgcompare {

struct Fusion {
  Activation activation = Activation::none;
  const LayerSpec* pool = nullptr;  // max pooling that PooledRows computes; null: none
};

}  // namespace mgcompare
