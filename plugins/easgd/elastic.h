#pragma once

// Elastic averaging of a rank's weights and the centre, per element.

#include <cstddef>

#include "mgcompare/types.h"

namespace easgd {

// Moves the rank towards the centre by the fraction alpha of the distance; `pull` is that movement.
struct Attract {
  float* own;
  const float* centre;
  float* pull;
  float alpha;
  MGCOMPARE_FUNCTION void operator()(std::size_t i) const {
    pull[i] = alpha * (own[i] - centre[i]);
    own[i] -= pull[i];
  }
};

// Moves the centre by a pull, or by the sum of several.
struct Follow {
  float* centre;
  const float* pull;
  MGCOMPARE_FUNCTION void operator()(std::size_t i) const { centre[i] += pull[i]; }
};

struct SquaredDistance {
  const float* own;
  const float* centre;
  MGCOMPARE_FUNCTION float operator()(std::size_t i) const { return (own[i] - centre[i]) * (own[i] - centre[i]); }
};

}  // namespace easgd
