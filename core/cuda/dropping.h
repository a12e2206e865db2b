#pragma once

// What the kernels of dropout depend on (model/dropout.h), in a pass.

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "cuda/captured_step.h"
#include "cuda/layer.h"
#include "model/dropout.h"

namespace mgcompare::cuda {

struct Dropping {
  double rate = 0;                  // 0: nothing is dropped
  std::uint64_t seed = 0, epoch = 0, layer = 0;
  const std::uint32_t* samples = nullptr;
  CapturedStep step;                // the epoch of a captured step is in device memory

  Dropping() = default;
  Dropping(const Work& work, double rate, std::size_t layer)
      : rate(work.training ? rate : 0), seed(work.seed), epoch(work.epoch), layer(layer), samples(work.order), step(work.captured_step) {}

  bool drops() const { return rate > 0; }
  // Of the units that are kept.
  float scale() const { return static_cast<float>(1 / (1 - rate)); }

  // The members below are for device code only.
  MGCOMPARE_FUNCTION DropoutMask mask(std::uint64_t units) const { return {seed, step.epoch(epoch), layer, units, rate}; }
  MGCOMPARE_FUNCTION std::uint32_t sample(std::size_t number) const { return samples[static_cast<std::int64_t>(number) + step.position_offset()]; }
};

// keeps[i] = 1 where the unit that is stored at place i is kept, otherwise 0; the pass must drop.
void draw_mask(cudaStream_t stream, const Dropping& dropping, const Tensor& units, std::size_t samples, std::uint8_t* keeps);

}  // namespace mgcompare::cuda
