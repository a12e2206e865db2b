#pragma once

// What the layers of a CPU network have in common. Images (three axes) are stored in blocks of 16 samples, (block,
// channel, row, column, 16), everything else as rows, (sample, feature). Lanes beyond the last sample hold finite values
// in `value` and zeros in `gradient`: sums over lanes need no mask.

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
  bool wanted = true;               // something before it learns: its gradient is computed
  float* value = nullptr;
  float* gradient = nullptr;        // sum over the readers

  std::size_t size(std::size_t samples) const { return (blocked ? blocks_of(samples) * kLanes : samples) * features; }
};

// One reader's view of a tensor. It overwrites `gradient`; the network adds the readers up.
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
  const float* weights = nullptr;      // the whole vectors
  float* gradients = nullptr;
  float* buffers = nullptr;
  // Of the loss's scale over that of the whole batch, the inverse: this rank's part of the samples where the loss is the
  // mean over its own share, 1 where it is of the whole. Ranks that add up what layers exchange need one scale.
  float share = 1;
};

class Layer {
 public:
  virtual ~Layer() = default;
  // Makes room for passes of up to `samples`.
  virtual void reserve(std::size_t /*samples*/) {}
  virtual void forward(const Work& work) = 0;
  // Overwrites this layer's part of the gradient and its ports' gradients; may use the output's gradient as scratch.
  virtual void backward(const Work& work) = 0;
  // Batch normalisation only: adds a vector over all ranks; unset, every rank is alone.
  virtual void synchronize(const std::function<void(Vec)>& /*all_reduce*/) {}
};

}  // namespace mgcompare
