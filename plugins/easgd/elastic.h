#pragma once

// The arithmetic of an elastic band between a rank's weights and the centre, one element at a time.

#include <cstddef>

#include "mgcompare/types.h"

namespace easgd {

// The rank gives up a share of its distance to the centre; `pull` is what it gave up.
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

// The centre takes what ranks gave up.
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
