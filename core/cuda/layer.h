#pragma once

// What the layers of a GPU network have in common. Images are (sample, channel, row, column), everything else (sample,
// feature): either way a sample's features are consecutive, so that flattening moves nothing.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "cuda/cursor.h"
#include "mgcompare/batch.h"
#include "mgcompare/types.h"

namespace mgcompare::cuda {

class CudaDevice;

struct Tensor {
  std::size_t features = 0;
  bool wanted = true;               // something before it learns: its gradient is computed
  float* value = nullptr;
  float* gradient = nullptr;        // sum over the readers

  std::size_t size(std::size_t samples) const { return samples * features; }
};

// One reader's view of a tensor. It overwrites `gradient`; the network adds the readers up.
struct Port {
  Tensor* tensor = nullptr;
  float* gradient = nullptr;
};

// One pass over this rank's samples. All pointers are to device memory.
struct Work {
  std::size_t samples = 0;
  bool training = true;
  std::uint64_t seed = 0, epoch = 0;
  const std::uint32_t* order = nullptr;  // of the feed, at the pass's first position: an index in the data set a sample
  Cursor cursor;                         // shifts positions and epoch in a recorded step
  const float* weights = nullptr;        // the whole vectors
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
  // What forward() needs of the weights alone: may go beside the layers before this one, on the branch that forward() joins.
  virtual void prepare(const Work& /*work*/) {}
  virtual void forward(const Work& work) = 0;
  // Overwrites this layer's part of the gradient and its ports' gradients; may use the output's gradient as scratch.
  virtual void backward(const Work& work) = 0;
  // Batch normalisation only: adds a vector over all ranks; unset, every rank is alone.
  virtual void synchronize(const std::function<void(Vec)>& /*all_reduce*/) {}
  // Whether backward() writes to the output's gradient.
  virtual bool spoils_gradient() const { return false; }
};

}  // namespace mgcompare::cuda
