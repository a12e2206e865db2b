#pragma once

// The products of a convolution layer (forward, gradients of input and filter) by cuDNN, each with the algorithm that is the
// fastest by measurement; with numerics.deterministic, with the one that cuDNN estimates to be.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "cuda/convolution_plan.h"
#include "cuda/device.h"
#include "cuda/pixel_pairs.h"
#include "model/network.h"
#include "model/spec.h"

namespace mgcompare::cuda {

class ConvolutionPasses {
 public:
  // Tensors store `element`. `spec` must outlive the object.
  ConvolutionPasses(CudaDevice& device, const LayerSpec& spec, const Numerics& numerics, Element element, bool channels_last);

  // Queues a pass, in parts if cuDNN needs too much workspace for the whole batch, and returns its stream: the device's branch for
  // the gradient of the filter, for which earlier layers need not wait, otherwise the compute stream. The first pass of a size
  // measures, unless the stream is capturing, which overwrites the result several times. Throws Error.
  cudaStream_t run(ConvolutionPass pass, std::size_t samples, const ConvolutionTensors& tensors);

 private:
  struct Step {
    ConvolutionPass pass;
    std::size_t samples;
    bool adds = false;              // to the result

    auto operator<=>(const Step&) const = default;
  };
  struct Algorithm {
    std::unique_ptr<ConvolutionPlan> plan;  // null: the workspace is too small for so many samples
    std::optional<PixelPairs> pairs;
  };
  // Where a pass is queued.
  struct Queue {
    cudaStream_t stream;
    cudnnHandle_t cudnn;
    void* workspace;
  };
  void run(const Step& step, const ConvolutionTensors& tensors);
  // Return what the algorithm's plan reads and writes in place of the tensors, and end the pass after the plan.
  ConvolutionTensors before(const Algorithm& algorithm, ConvolutionPass pass, const ConvolutionTensors& tensors, cudaStream_t stream) const;
  void after(const Algorithm& algorithm, ConvolutionPass pass, const ConvolutionTensors& tensors, cudaStream_t stream) const;
  Queue compute_queue() const;
  Queue queue_of(ConvolutionPass pass) const;  // forks the branch for the gradient of the filter
  Algorithm choose(const Step& step, const ConvolutionTensors& tensors);
  Algorithm measure(const ConvolutionProblem& problem, const ConvolutionCandidates& candidates, const ConvolutionTensors& tensors);
  ConvolutionProblem problem_of(const Step& step) const;

  CudaDevice& device_;
  const LayerSpec& spec_;
  const Numerics numerics_;
  const Element element_;
  const bool channels_last_;
  std::map<Step, Algorithm> algorithms_;
  Array<std::uint8_t> pairs_, pairs_gradient_;  // the filter for pairs of pixels and its gradient, during a pass
};

}  // namespace mgcompare::cuda
