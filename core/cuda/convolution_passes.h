#pragma once

// The products of a convolution layer (forward, gradients of input and filter) by cuDNN, each with the algorithm that is the
// fastest by measurement; with numerics.deterministic, with the one that cuDNN estimates to be.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/bias.h"
#include "cuda/convolution_plan.h"
#include "cuda/device.h"
#include "cuda/flipped_filter.h"
#include "cuda/pixel_pairs.h"
#include "model/network.h"
#include "model/spec.h"

namespace mgcompare::cuda {

// What follows the forward product: bias and activation. Without `bias` nothing does.
struct Epilogue {
  Bias* bias = nullptr;             // for products whose kernel does not add them
  Activation activation = Activation::none;
};

class ConvolutionPasses {
 public:
  // Tensors store `element`. `spec` and the bias must outlive the object.
  ConvolutionPasses(CudaDevice& device, const LayerSpec& spec, const Numerics& numerics, Element element, bool channels_last, Epilogue epilogue);

  // The bias needs no alignment. Queues a pass, in parts if cuDNN needs too much workspace for the whole batch, and returns its stream: the device's branch for
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
  // How a pass is computed by a plan; at most one of these.
  struct Kind {
    std::optional<PixelPairs> pairs;
    std::optional<FlippedFilter> flipped;
    bool finishes = false;          // the plan includes the epilogue
  };
  struct Algorithm {
    std::unique_ptr<ConvolutionPlan> plan;  // null: the workspace is too small for so many samples
    Kind kind;
  };
  struct Candidates {
    ConvolutionCandidates plans;
    std::size_t count;              // of them that are measured
    Kind kind;
    std::string text;               // the problem that they solve
  };
  // Where a pass is queued.
  struct Queue {
    cudaStream_t stream;
    cudnnHandle_t cudnn;
    void* workspace;
  };
  void run(const Step& step, const ConvolutionTensors& tensors);
  // Return what a plan of this kind reads and writes in place of the tensors, and end the pass after the plan.
  ConvolutionTensors before(const Kind& kind, const Step& step, const ConvolutionTensors& tensors, cudaStream_t stream);
  void after(const Kind& kind, const Step& step, const ConvolutionTensors& tensors, cudaStream_t stream) const;
  Queue compute_queue() const;
  Queue queue_of(ConvolutionPass pass) const;  // forks the branch for the gradient of the filter
  Algorithm choose(const Step& step, const ConvolutionTensors& tensors);
  Algorithm measure(const Step& step, const ConvolutionTensors& tensors);
  std::vector<Candidates> candidates_of(const ConvolutionProblem& problem);
  ConvolutionProblem problem_of(const Step& step) const;

  CudaDevice& device_;
  const LayerSpec& spec_;
  const Numerics numerics_;
  const Element element_;
  const bool channels_last_;
  const Epilogue epilogue_;
  std::map<Step, Algorithm> algorithms_;
  Array<std::uint8_t> other_filter_, pairs_gradient_;  // the filter flipped or for pairs of pixels, and the gradient of the latter, during a pass
  Array<float> aligned_bias_;       // for kernels that include the epilogue, during a pass
};

}  // namespace mgcompare::cuda
