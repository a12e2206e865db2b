#pragma once

// Interface of the layers of a CPU network. Images (three axes) are stored in blocks of 16 samples, (block, channel, row,
// column, 16); everything else as rows, (sample, feature). Lanes beyond the last sample hold finite values in `value` and
// zeros in `gradient`, so that sums over lanes need no mask.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "cpu/kernels.h"
#include "mgcompare/batch.h"
#include "mgcompare/device.h"
#include "mgcompare/types.h"

namespace mgcompare {

inline std::size_t blocks_of(std::size_t samples) { return (samples + kLanes - 1) / kLanes; }

struct Tensor {
  Shape shape;
  std::size_t features = 0;
  bool blocked = false;
  bool needs_gradient = true;       // a layer before it has parameters
  float* value = nullptr;
  float* gradient = nullptr;        // sum over all readers

  std::size_t size(std::size_t samples) const { return (blocked ? blocks_of(samples) * kLanes : samples) * features; }
};

// One reader of a tensor. The reader overwrites `gradient`; the network sums over the readers.
struct Port {
  Tensor* tensor = nullptr;
  float* gradient = nullptr;
};

// One pass over this rank's samples.
struct Work {
  std::size_t samples = 0;
  bool training = true;
  std::uint64_t seed = 0, epoch = 0;
  const std::uint32_t* ids = nullptr;  // index in the data set of each sample
  const float* weights = nullptr;      // these three: the network's whole vectors
  float* gradients = nullptr;
  float* buffers = nullptr;
  // Scale of a whole-batch loss over the scale of this rank's loss: the rank's share of the samples if its loss is the mean
  // over its own share, 1 if it is scaled by the whole batch. Sums over ranks inside a layer need a common scale.
  float share = 1;
};

class LayerOfParts;

class Layer {
 public:
  virtual ~Layer() = default;
  // Allocates memory for passes of up to `samples` samples.
  virtual void reserve(std::size_t /*samples*/) {}
  virtual void forward(const Work& work) = 0;
  // Overwrites this layer's part of the gradient and its ports' gradients. May use the output's gradient as scratch.
  virtual void backward(const Work& work) = 0;
  // Batch normalisation only: sets the all-reduce over ranks for its statistics; without it every rank uses its own.
  virtual void synchronize(const std::function<void(Vec)>& /*all_reduce*/) {}
  virtual LayerOfParts* of_parts() { return nullptr; }
};

// A layer that can work on some samples at a time: what it writes is still in the cache when the next layer reads it. Parts follow
// each other without gaps, and begin at multiples of 16 samples.
class LayerOfParts : public Layer {
 public:
  void forward(const Work& work) final {
    begin_forward(work);
    forward_part(work, {0, work.samples});
  }
  void backward(const Work& work) final {
    begin_backward(work);
    backward_part(work, {0, work.samples});
    end_backward(work);
  }
  LayerOfParts* of_parts() final { return this; }

  virtual void begin_forward(const Work& work) = 0;
  virtual void forward_part(const Work& work, Range samples) = 0;
  virtual void begin_backward(const Work& work) = 0;
  virtual void backward_part(const Work& work, Range samples) = 0;
  virtual void end_backward(const Work& /*work*/) {}
  // Samples of a part, at least: a multiple of 16.
  virtual std::size_t samples_of_part() const { return kLanes; }
  // Batch normalisation only: begin_forward() needs all samples of the input, begin_backward() the whole gradient of the output. The
  // network may announce them in parts before, as soon as they are in the cache.
  virtual bool needs_all() const { return false; }
  virtual void observe(const Work& /*work*/, Range /*samples*/) {}
  virtual void observe_gradient(const Work& /*work*/, Range /*samples*/) {}
};

}  // namespace mgcompare
