#pragma once

// Arithmetic by teams of threads, on either kind of device.

#include <cstddef>

#include "mgcompare/arithmetic.h"

#if defined(__CUDACC__)
#include "team_cuda.h"
#endif

namespace mgcompare::power_sgd {

// The team of a CPU device: one thread.
struct Alone {
  MGCOMPARE_FUNCTION std::size_t rank() const { return 0; }
  MGCOMPARE_FUNCTION std::size_t size() const { return 1; }
  MGCOMPARE_FUNCTION float sum(float value) const { return value; }
  MGCOMPARE_FUNCTION void wait() const {}
};

// f(team, k) for k in [0, n). On a GPU a team is a block of threads, on a CPU one thread. All threads of a team run f;
// thread team.rank() of team.size() does its part. All of them call team.sum(x), which adds their x in a fixed order and
// returns the sum to each, and team.wait(), after which each sees what the others wrote. f is a struct whose operator() is
// a template. Stream-ordered.
template <class F> void for_each_team(Device& device, std::size_t n, F f) {
  if (runs_on_cpu(device)) {
    Alone team;
    for (std::size_t k = 0; k < n; ++k) f(team, k);
    return;
  }
#if defined(__CUDACC__)
  gpu::for_each_team(device, n, f);
#endif
}

}  // namespace mgcompare::power_sgd
