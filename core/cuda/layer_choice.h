#pragma once

// Which class computes a layer of a network, and in which format the layer reads and writes. With KernelChoice::library, it is a class
// of cuda/library, or one that calls cuDNN or cuBLASLt anyway, wherever these libraries have the layer.

#include <memory>
#include <string>
#include <vector>

#include "cuda/fusion.h"
#include "cuda/layer.h"
#include "model/network.h"
#include "model/spec.h"

namespace mgcompare::cuda {

class LayerChoice {
 public:
  // `spec` must outlive the object.
  LayerChoice(CudaDevice& device, const NetworkSpec& spec, const Numerics& numerics);

  // `input` is the output of the layer before, or the sample.
  Fusion fusion(std::size_t index, const Tensor& input) const;
  Format input_format(std::size_t index, const Fusion& fusion, const Tensor& input) const;
  // `input` is in the input format.
  Format output_format(std::size_t index, const Fusion& fusion, const Tensor& input) const;
  // The inputs are in the input format, the output is in the output format.
  std::unique_ptr<Layer> make(std::size_t index, Fusion fusion, const std::vector<Port*>& inputs, Tensor& output) const;

  // With KernelChoice::library, the types of layers and the parts of a step that the libraries do not compute; otherwise empty.
  std::vector<std::string> computed_without_library() const;

 private:
  bool has_own_kernels(const LayerSpec& layer, const Fusion& fusion, const Tensor& input) const;
  // Null if the libraries do not have the layer.
  std::unique_ptr<Layer> from_library(const LayerSpec& layer, const Fusion& fusion, const std::vector<Port*>& inputs, Tensor& output) const;
  bool is_in_library(const LayerSpec& layer) const;
  bool uses_library() const { return numerics_.kernels == KernelChoice::library; }

  CudaDevice& device_;
  const NetworkSpec& spec_;
  const Numerics numerics_;
  const Fusions fusions_;
  const Element factors_;           // of convolutions, dense and recurrent layers
};

// Whether a layer computes each value from those at the same place, in any order of storage.
bool is_elementwise(LayerType type);

}  // namespace mgcompare::cuda
