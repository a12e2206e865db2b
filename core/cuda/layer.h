#pragma once

// Interface of the layers of a GPU network, and the tensors between them. An image is stored in channels-last order (sample,
// row, column, channel), for which cuDNN has the fastest kernels, or in planar order (sample, channel, row, column), which is
// that of the samples and of the weights of a dense layer. Likewise a sequence is (sample, feature, position) or (sample,
// position, feature), where the positions take the place of the channels. Everything else is (sample, feature). In all of these
// a sample's features are contiguous, so that flattening needs no copy.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "cuda/captured_step.h"
#include "cuda/element.h"
#include "mgcompare/batch.h"
#include "mgcompare/types.h"
#include "model/activation.h"

namespace mgcompare::cuda {

class CudaDevice;

// How a tensor is stored.
struct Format {
  Element element = Element::fp32;
  bool channels_last = false;       // images and sequences
};

struct Tensor {
  std::size_t features = 0;
  std::size_t channels = 1;         // or positions of a sequence, also if it is flattened; otherwise 1
  bool needs_gradient = true;       // a layer before it has parameters
  Format format;
  // The derivative, at this tensor's values, with which the network multiplies the gradient as it adds up those of several readers.
  Activation derivative = Activation::none;
  // The activation by whose derivative the only reader may multiply the gradient in place of the layer, and whether it did so in this
  // pass.
  Activation offered = Activation::none;
  bool differentiated = false;
  // Whether the layer can use the sums over the samples and pixels of each channel of the gradient, and then of the gradient times the
  // value; and these, if the only reader has queued them on the branch in this pass (input_sums.h).
  bool wants_sums = false;
  const float* sums = nullptr;
  void* value = nullptr;
  void* gradient = nullptr;         // sum over all readers

  std::size_t size(std::size_t samples) const { return samples * features; }
  std::size_t bytes(std::size_t samples) const { return size(samples) * bytes_of(format.element); }
  std::size_t pixels() const { return features / channels; }
  // The derivative that is left to the layer whose output this is.
  Activation own_derivative(Activation of_layer) const { return derivative == Activation::none ? of_layer : Activation::none; }
  // Whether the features of a sample are in another order than in the specification.
  bool reordered() const { return format.channels_last && channels > 1 && pixels() > 1; }
  template <class T = float> T* values() const { return static_cast<T*>(value); }
  template <class T = float> T* gradients() const { return static_cast<T*>(gradient); }
};

// One reader of a tensor. The reader overwrites `gradient`; the network sums over the readers.
struct Port {
  Tensor* tensor = nullptr;
  void* gradient = nullptr;

  template <class T = float> T* values() const { return tensor->values<T>(); }
  template <class T = float> T* gradients() const { return static_cast<T*>(gradient); }
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
  // What forward() needs and no earlier layer computes: weights in another order or type, the mask of dropout. May run in parallel with
  // earlier layers, on the branch that forward() joins.
  virtual void prepare(const Work& /*work*/) {}
  virtual void forward(const Work& work) = 0;
  // Overwrites this layer's part of the gradient and its ports' gradients. May use the output's gradient as scratch.
  virtual void backward(const Work& work) = 0;
  // Batch normalisation only: sets the all-reduce over ranks for its statistics; without it every rank uses its own.
  virtual void synchronize(const std::function<void(Vec)>& /*all_reduce*/) {}
  // Whether the gradient of an input is that of the output, so that the network may let it share the memory.
  virtual bool passes_gradient(std::size_t /*input*/) const { return false; }
  // The activation for whose derivative backward() needs a pass of its own, unless the network multiplies by it (Tensor::derivative).
  virtual Activation derivative() const { return Activation::none; }
  // The activation by whose derivative backward() multiplies, unless the output's only reader did so (Tensor::differentiated).
  virtual Activation offers() const { return Activation::none; }
  // Whether backward() can use the sums of the output's gradient, if the only reader has them (Tensor::sums).
  virtual bool wants_sums() const { return false; }
  // Whether backward() writes to the output's gradient.
  virtual bool overwrites_output_gradient() const { return false; }
};

}  // namespace mgcompare::cuda
