#pragma once

// The GPU side of team.h. Compiled by nvcc only.

#include "mgcompare/detail/block_cuda.h"

namespace mgcompare::power_sgd::gpu {

struct Team {
  __device__ std::size_t rank() const { return threadIdx.x; }
  __device__ std::size_t size() const { return blockDim.x; }
  __device__ float sum(float value) const { return cuda::arithmetic::sum_of_warps<1>(value); }
  __device__ void wait() const { __syncthreads(); }
};

template <class F> __global__ void each_team(F f) {
  Team team;
  f(team, static_cast<std::size_t>(blockIdx.x));
}

template <class F> void for_each_team(Device& device, std::size_t n, F f) {
  if (n == 0) return;
  each_team<<<static_cast<unsigned>(n), cuda::arithmetic::kThreads, 0, cuda::arithmetic::stream_of(device)>>>(f);
  cuda::arithmetic::check_launch();
}

}  // namespace mgcompare::power_sgd::gpu
