#pragma once

// Interface of the layers of a GPU network. Images are (sample, channel, row, column), everything else (sample, feature). In
// both layouts a sample's features are contiguous, so that flattening needs no copy.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "cuda/captured_step.h"
#include "mgcompare/batch.h"
#include "mgcompare/types.h"

namespace mgcompare::cuda {

class CudaDevice;

struct Tensor {
  std::size_t features = 0;
  bool needs_gradient = true;       // a layer before it has parameters
  float* value = nullptr;
  float* gradient = nullptr;        // sum over all readers

  std::size_t size(std::size_t samples) const { return samples * features; }
};

// One reader of a tensor. The reader overwrites `gradient`; the network sums over the readers.
struct Port {
  Tensor* tensor = nullptr;
  float* gradient = nullptr;
};

// One pass over this rank's samples. All pointers are to device memory.
struct Work {
  std::size_t samples = 0;
  bool training = true;
  std::uint64_t seed = 0, epoch = 0;
  const std::uint32_t* order = nullptr;  // index in the data set of each sample, before the captured step's offset
  CapturedStep captured_step;            // position offset and epoch within a CUDA graph
  const float* weights = nullptr;        // these three: the network's whole vectors
  float* gradients = nullptr;
  float* buffers = nullptr;
  // Scale of a whole-batch loss over the scale of this rank's loss: the rank's share of the samples if its loss is the mean
  // over its own share, 1 if it is scaled by the whole batch. Sums over ranks inside a layer need a common scale.
  float share = 1;
};

class Layer {
 public:
  virtual ~Layer() = default;
  // Allocates memory for passes of up to `samples` samples.
  virtual void reserve(std::size_t /*samples*/) {}
  // Preprocesses the weights for forward(). May run in parallel with earlier layers, on the branch that forward() joins.
  virtual void prepare(const Work& /*work*/) {}
  virtual void forward(const Work& work) = 0;
  // Overwrites this layer's part of the gradient and its ports' gradients. May use the output's gradient as scratch.
  virtual void backward(const Work& work) = 0;
  // Batch normalisation only: sets the all-reduce over ranks for its statistics; without it every rank uses its own.
  virtual void synchronize(const std::function<void(Vec)>& /*all_reduce*/) {}
  // Whether backward() writes to the output's gradient.
  virtual bool overwrites_output_gradient() const { return false; }
};

}  // namespace mgcompare::cuda
