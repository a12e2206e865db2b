#pragma once

// What changes from step to step in a captured CUDA graph. The kernels of a captured step read its position, epoch and
// learning rate from device memory, so that one graph serves all steps of a batch shape. Outside of a capture they use the
// host's values.

#include <cstdint>

#include "mgcompare/types.h"

namespace mgcompare::cuda {

// In device memory; updated between steps by the kernels of graph_recorder.cu.
struct StepState {
  std::uint32_t step;       // number within the epoch
  std::uint32_t begin;      // first position of the global batch in the epoch's order
  std::uint32_t next_begin; // of the step that follows; kNoStep: none is known
  std::uint32_t epoch;
  float learning_rate;
};

inline constexpr std::uint32_t kNoStep = ~std::uint32_t{0};

// Passed by value to kernels.
struct CapturedStep {
  const StepState* state = nullptr;  // in device memory; null outside of a capture
  std::uint32_t base = 0;            // `begin` of the step during whose capture host positions were computed
  bool in_order = false;             // steps of an epoch, one after another: next_begin is known

  // Add this to positions that the host computed during the capture. The members below are for device code only.
  MGCOMPARE_FUNCTION std::int64_t position_offset() const {
    return state == nullptr ? 0 : static_cast<std::int64_t>(state->begin) - base;
  }
  MGCOMPARE_FUNCTION std::uint64_t epoch(std::uint64_t host_epoch) const {
    return state == nullptr ? host_epoch : state->epoch;
  }
  MGCOMPARE_FUNCTION float learning_rate(float host_rate, float scale) const {
    return state == nullptr ? host_rate : state->learning_rate * scale;
  }
};

}  // namespace mgcompare::cuda
