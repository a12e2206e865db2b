#include "cuda/convolution_passes.h"

#include <algorithm>
#include <string>

#include "base/device_lost.h"
#include "cuda/algorithm_choice.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

constexpr std::size_t kMostMeasured = 10;  // candidates; cuDNN lists the slow ones last
constexpr std::int64_t kFewInputs = 64;    // with more channels, pairs of pixels are never faster

std::size_t features_of(const Shape& image) { return image[0] * image[1] * image[2]; }

}  // namespace

ConvolutionPasses::ConvolutionPasses(CudaDevice& device, const LayerSpec& spec, const Numerics& numerics, Element element, bool channels_last)
    : device_(device), spec_(spec), numerics_(numerics), element_(element), channels_last_(channels_last) {}

ConvolutionPasses::Queue ConvolutionPasses::compute_queue() const {
  const Handles& handles = device_.handles();
  return {handles.stream, handles.cudnn, handles.workspace};
}

ConvolutionPasses::Queue ConvolutionPasses::queue_of(ConvolutionPass pass) const {
  if (pass != ConvolutionPass::filter_gradient) return compute_queue();
  return {device_.fork_branch(), device_.handles().branch_cudnn, device_.handles().branch_workspace};
}

cudaStream_t ConvolutionPasses::run(ConvolutionPass pass, std::size_t samples, const ConvolutionTensors& tensors) {
  run(Step{pass, samples}, tensors);
  return pass == ConvolutionPass::filter_gradient ? device_.handles().branch : device_.compute_stream();
}

void ConvolutionPasses::run(const Step& step, const ConvolutionTensors& tensors) {
  auto found = algorithms_.find(step);
  if (found == algorithms_.end()) found = algorithms_.emplace(step, choose(step, tensors)).first;
  if (const Algorithm& algorithm = found->second; algorithm.plan != nullptr) {
    const Queue queue = queue_of(step.pass);  // only now: measuring joins the branch
    algorithm.plan->run(queue.cudnn, before(algorithm, step.pass, tensors, queue.stream), queue.workspace);
    return after(algorithm, step.pass, tensors, queue.stream);
  }
  if (step.samples == 1)
    throw Error("cuDNN has no algorithm for layer '" + spec_.config.name + "' that needs at most " +
                std::to_string(kWorkspaceBytes >> 20) +
                " MiB of workspace for one sample: use smaller images or fewer channels");
  const std::size_t half = (step.samples + 1) / 2;
  const auto rest = [&](void* data, const Shape& image) {
    return static_cast<std::uint8_t*>(data) + half * features_of(image) * bytes_of(element_);
  };
  run({step.pass, half, step.adds}, tensors);
  run({step.pass, step.samples - half, step.adds || step.pass == ConvolutionPass::filter_gradient},
      {rest(tensors.image, spec_.input_shapes.front()), tensors.filter, rest(tensors.result, spec_.output_shape)});
}

ConvolutionTensors ConvolutionPasses::before(const Algorithm& algorithm, ConvolutionPass pass, const ConvolutionTensors& tensors,
                                             cudaStream_t stream) const {
  if (!algorithm.pairs) return tensors;
  const Array<std::uint8_t>& filter = pass == ConvolutionPass::filter_gradient ? pairs_gradient_ : pairs_;
  auto* const of_pairs = const_cast<std::uint8_t*>(filter.data());
  if (pass == ConvolutionPass::data_gradient) algorithm.pairs->expand(stream, tensors.filter, of_pairs);
  return {tensors.image, of_pairs, tensors.result};
}

void ConvolutionPasses::after(const Algorithm& algorithm, ConvolutionPass pass, const ConvolutionTensors& tensors, cudaStream_t stream) const {
  if (algorithm.pairs && pass == ConvolutionPass::filter_gradient) algorithm.pairs->fold(stream, pairs_gradient_.data(), tensors.filter);
}

ConvolutionPasses::Algorithm ConvolutionPasses::choose(const Step& step, const ConvolutionTensors& tensors) {
  const ConvolutionProblem problem = problem_of(step);
  const ConvolutionCandidates candidates(device_.handles().cudnn, problem);
  // By measurement, repeated runs could use different algorithms, and so have different rounding errors.
  if (!numerics_.deterministic && !step.adds && can_measure(device_.compute_stream()))
    if (Algorithm best = measure(problem, candidates, tensors); best.plan != nullptr) return best;
  for (std::size_t index = 0; index < candidates.size(); ++index)
    if (auto plan = candidates.plan(index, kWorkspaceBytes)) return {std::move(plan), {}};
  return {};
}

// No plan if all candidates are refused.
ConvolutionPasses::Algorithm ConvolutionPasses::measure(const ConvolutionProblem& problem, const ConvolutionCandidates& candidates,
                                                        const ConvolutionTensors& tensors) {
  device_.join_branch();  // whose work would disturb the measurement
  const Queue queue = compute_queue();
  std::optional<PixelPairs> pairs;
  if (problem.pass != ConvolutionPass::forward && problem.in <= kFewInputs && numerics_.kernels == KernelChoice::fused) pairs = PixelPairs::of(problem);
  std::optional<ConvolutionCandidates> of_pairs;
  if (pairs) {
    of_pairs.emplace(queue.cudnn, pairs->problem());
    Array<std::uint8_t>& filter = problem.pass == ConvolutionPass::filter_gradient ? pairs_gradient_ : pairs_;
    if (filter.empty()) filter = device_array<std::uint8_t>(device_, pairs->filter_size() * bytes_of(element_));
  }
  const std::size_t single = std::min(candidates.size(), kMostMeasured);
  const std::size_t count = single + (pairs ? std::min(of_pairs->size(), kMostMeasured) : 0);
  std::map<std::size_t, Algorithm> algorithms;
  const auto algorithm = [&](std::size_t index) -> Algorithm& {
    const auto [place, is_new] = algorithms.try_emplace(index);
    if (!is_new) return place->second;
    if (index < single) place->second.plan = candidates.plan(index, kWorkspaceBytes);
    else place->second = {of_pairs->plan(index - single, kWorkspaceBytes), pairs};
    return place->second;
  };
  // "2": since clears of memory are kernels, which changed the times.
  const std::string key = "cudnn-" + std::to_string(cudnnGetVersion()) + " 2 " + problem.text() + (pairs ? "-or-pairs" : "");
  const std::size_t best = fastest_algorithm(queue.stream, key, count, [&](std::size_t index) {
    const Algorithm& tried = algorithm(index);
    if (tried.plan == nullptr) return false;
    try {
      const bool ran = tried.plan->try_run(queue.cudnn, before(tried, problem.pass, tensors, queue.stream), queue.workspace);
      if (ran) after(tried, problem.pass, tensors, queue.stream);
      return ran;
    } catch (const DeviceLost&) {
      throw;
    } catch (const Error&) {
      return false;                 // a kernel cannot be queued if the plan has ended the recording
    }
  });
  if (best == count) return {};
  return std::move(algorithm(best));
}

ConvolutionProblem ConvolutionPasses::problem_of(const Step& step) const {
  const Shape &in = spec_.input_shapes.front(), &out = spec_.output_shape;
  const auto number = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  ConvolutionProblem problem{.pass = step.pass, .samples = number(step.samples), .in = number(in[0]), .height = number(in[1]),
                             .width = number(in[2]), .out = number(out[0]), .down = number(out[1]), .across = number(out[2]),
                             .channels_last = channels_last_, .element = element_, .precision = numerics_.precision, .adds = step.adds};
  for (const int axis : {0, 1}) {
    problem.kernel[axis] = number(spec_.config.kernel[axis]);
    problem.stride[axis] = number(spec_.config.stride[axis]);
    problem.padding[axis] = number(spec_.config.padding[axis]);
  }
  return problem;
}

}  // namespace mgcompare::cuda
