#pragma once

// Where in training a recorded step is. Its kernels read this from device memory, so that the same recording serves all
// steps of a batch shape; outside of a recording the host's values are used as they are.

#include <cstdint>

#include "mgcompare/types.h"

namespace mgcompare::cuda {

struct StepState {
  std::uint32_t step;       // within the epoch
  std::uint32_t begin;      // first position of the global batch in the epoch's order
  std::uint32_t epoch;
  float learning_rate;
};

// Sums over the samples since they were last taken.
struct DeviceTally {
  double loss;
  unsigned long long correct;
  unsigned long long samples;
};

struct Cursor {
  const StepState* state = nullptr;  // in device memory, or null
  std::uint32_t base = 0;            // `begin` of the step that was recorded

  // What to add to positions that the host computed for the recorded step. Device only.
  MGCOMPARE_FUNCTION std::int64_t shift() const {
    return state == nullptr ? 0 : static_cast<std::int64_t>(state->begin) - base;
  }
  MGCOMPARE_FUNCTION std::uint64_t epoch(std::uint64_t of_host) const { return state == nullptr ? of_host : state->epoch; }
  MGCOMPARE_FUNCTION float rate(float of_host, float scale) const {
    return state == nullptr ? of_host : state->learning_rate * scale;
  }
};

}  // namespace mgcompare::cuda
