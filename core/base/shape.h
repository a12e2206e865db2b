#pragma once

#include <functional>
#include <numeric>

#include "mgcompare/batch.h"

namespace mgcompare {

// How many values a tensor of this shape has; 1 without axes.
inline std::size_t values_in(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

}  // namespace mgcompare
