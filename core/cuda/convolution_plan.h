#pragma once

// One product of a convolution (forward, gradient of the input or of the filter) as an execution plan of cuDNN's graph API. The plan is
// chosen from cuDNN's candidates by measurement, or by cuDNN's own estimate. The forward product can be followed by a bias and relu, which
// the same kernel adds to its float32 sums.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "config/kinds.h"
#include "cuda/cudnn_descriptor.h"
#include "cuda/element.h"

namespace mgcompare::cuda {

enum class ConvolutionPass : std::uint8_t { forward, data_gradient, filter_gradient };

// Channels-last: images (sample, row, column, channel), filters (output, row, column, input). Otherwise planar: (sample,
// channel, row, column) and (output, input, row, column).
struct ConvolutionProblem {
  ConvolutionPass pass{};
  std::int64_t samples = 0, in = 0, height = 0, width = 0;  // `in` and `out` are channels
  std::int64_t out = 0, down = 0, across = 0;
  std::int64_t kernel[2] = {}, stride[2] = {}, padding[2] = {};
  bool channels_last = true;
  Element element{};                // of all tensors; sums are float32
  Precision precision{};            // fp32: no tensor cores
  bool adds = false;                // to the result, instead of overwriting it
  bool bias = false, relu = false;  // forward only: what follows the product

  // All of it in one word, for caches.
  std::string text() const;
};

// Pointers to the tensors, all aligned to kTensorAlignment bytes. The pass writes one of them.
inline constexpr std::size_t kTensorAlignment = 16;
struct ConvolutionTensors {
  void *image = nullptr, *filter = nullptr, *result = nullptr;
  const float* bias = nullptr;      // where the problem has one
};

class ConvolutionPlan {
 public:
  // `described` is kept alive: what the plan refers to.
  ConvolutionPlan(std::shared_ptr<const void> described, CudnnDescriptor plan)
      : described_(std::move(described)), plan_(std::move(plan)) {}
  // Queues the pass on the handle's stream. Throws Error.
  void run(cudnnHandle_t cudnn, const ConvolutionTensors& tensors, void* workspace) const;
  // Returns false where run() throws.
  bool try_run(cudnnHandle_t cudnn, const ConvolutionTensors& tensors, void* workspace) const;

 private:
  cudnnStatus_t queue(cudnnHandle_t cudnn, const ConvolutionTensors& tensors, void* workspace) const;
  std::shared_ptr<const void> described_;
  CudnnDescriptor plan_;
};

// cuDNN's engines for a problem, sorted by its estimate of their speed. Only deterministic ones that add products directly:
// transforms (FFT, Winograd) round 10 to 100 times more coarsely, and at some batch sizes only, so that the gradients of a
// split batch would differ from those of the whole batch by more than the order of additions. With a bias or
// relu, none that cuDNN compiles when it is planned, as it does all of them in bf16.
class ConvolutionCandidates {
 public:
  ConvolutionCandidates(cudnnHandle_t cudnn, const ConvolutionProblem& problem);
  std::size_t size() const;
  // Null if cuDNN refuses this candidate, or if it needs more than `workspace` bytes.
  std::unique_ptr<ConvolutionPlan> plan(std::size_t index, std::size_t workspace) const;

 private:
  struct Graph;
  std::shared_ptr<Graph> graph_;
};

}  // namespace mgcompare::cuda
