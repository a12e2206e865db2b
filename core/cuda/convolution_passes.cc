#include "cuda/convolution_passes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/device_lost.h"
#include "base/shape.h"
#include "cuda/algorithm_choice.h"
#include "cuda/transpose.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

constexpr std::size_t kMostMeasured = 10;  // candidates; cuDNN lists the slow ones last
constexpr std::size_t kMostFlipped = 4;    // likewise
constexpr std::int64_t kFewInputs = 64;    // with more channels, pairs of pixels are never faster

}  // namespace

ConvolutionPasses::ConvolutionPasses(CudaDevice& device, const LayerSpec& spec, const Numerics& numerics, Element element, bool channels_last,
                                     Epilogue epilogue)
    : device_(device), spec_(spec), numerics_(numerics), element_(element), channels_last_(channels_last), epilogue_(epilogue) {}

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
    algorithm.plan->run(queue.cudnn, before(algorithm.kind, step, tensors, queue.stream), queue.workspace);
    return after(algorithm.kind, step, tensors, queue.stream);
  }
  if (step.samples == 1)
    throw Error("cuDNN has no algorithm for layer '" + spec_.config.name + "' that needs at most " +
                std::to_string(kWorkspaceBytes >> 20) +
                " MiB of workspace for one sample: use smaller images or fewer channels");
  const std::size_t half = (step.samples + 1) / 2;
  const auto rest = [&](void* data, const Shape& image) {
    return static_cast<std::uint8_t*>(data) + half * values_in(image) * bytes_of(element_);
  };
  run({step.pass, half, step.adds}, tensors);
  run({step.pass, step.samples - half, step.adds || step.pass == ConvolutionPass::filter_gradient},
      {rest(tensors.image, spec_.input_shapes.front()), tensors.filter, rest(tensors.result, spec_.output_shape), tensors.bias});
}

ConvolutionTensors ConvolutionPasses::before(const Kind& kind, const Step& step, const ConvolutionTensors& tensors, cudaStream_t stream) {
  ConvolutionTensors changed = tensors;
  if (!kind.finishes) {
    changed.bias = nullptr;
  } else if (reinterpret_cast<std::uintptr_t>(tensors.bias) % kTensorAlignment != 0) {
    convert(stream, spec_.bias.size(), tensors.bias, Element::fp32, aligned_bias_.data(), Element::fp32);
    changed.bias = aligned_bias_.data();
  }
  if (kind.flipped) {
    kind.flipped->flip(stream, tensors.filter, other_filter_.data());
    return {tensors.result, other_filter_.data(), tensors.image};
  }
  if (!kind.pairs) return changed;
  if (step.pass == ConvolutionPass::data_gradient) kind.pairs->expand(stream, tensors.filter, other_filter_.data());
  changed.filter = step.pass == ConvolutionPass::filter_gradient ? pairs_gradient_.data() : other_filter_.data();
  return changed;
}

void ConvolutionPasses::after(const Kind& kind, const Step& step, const ConvolutionTensors& tensors, cudaStream_t stream) const {
  if (kind.pairs && step.pass == ConvolutionPass::filter_gradient) kind.pairs->fold(stream, pairs_gradient_.data(), tensors.filter);
  if (step.pass == ConvolutionPass::forward && epilogue_.bias != nullptr && !kind.finishes)
    epilogue_.bias->add(epilogue_.activation, tensors.bias, tensors.result, step.samples * spec_.output_shape[1] * spec_.output_shape[2]);
}

ConvolutionPasses::Algorithm ConvolutionPasses::choose(const Step& step, const ConvolutionTensors& tensors) {
  // By measurement, repeated runs could use different algorithms, and so have different rounding errors.
  if (!numerics_.deterministic && !step.adds && can_measure(device_.compute_stream()))
    if (Algorithm best = measure(step, tensors); best.plan != nullptr) return best;
  const ConvolutionCandidates candidates(device_.handles().cudnn, problem_of(step));
  for (std::size_t index = 0; index < candidates.size(); ++index)
    if (auto plan = candidates.plan(index, kWorkspaceBytes)) return {.plan = std::move(plan)};
  return {};
}

std::vector<ConvolutionPasses::Candidates> ConvolutionPasses::candidates_of(const ConvolutionProblem& problem) {
  std::vector<Candidates> all;
  const auto add = [&](const ConvolutionProblem& solved, std::size_t most, const Kind& kind) {
    ConvolutionCandidates plans(device_.handles().cudnn, solved);
    const std::size_t count = std::min(plans.size(), most);
    all.push_back({std::move(plans), count, kind, solved.text()});
  };
  add(problem, kMostMeasured, {});
  // The others can be done without, if this cuDNN does not know one of their attributes.
  const auto try_to_add = [&](const ConvolutionProblem& solved, std::size_t most, const Kind& kind) {
    try {
      add(solved, most, kind);
    } catch (const DeviceLost&) {
      throw;
    } catch (const Error&) {
    }
  };
  if (numerics_.kernels != KernelChoice::fused) return all;
  const auto allocate = [&](Array<std::uint8_t>& filter, std::size_t size) {
    if (const std::size_t bytes = size * bytes_of(element_); filter.size() < bytes) filter = device_array<std::uint8_t>(device_, bytes);
  };
  if (problem.pass == ConvolutionPass::forward) {
    ConvolutionProblem finished = problem;
    finished.bias = spec_.bias.size() > 0;
    finished.relu = epilogue_.activation == Activation::relu;
    const bool is_served = finished.relu || (finished.bias && epilogue_.activation == Activation::none);
    if (epilogue_.bias != nullptr && is_served) {
      if (aligned_bias_.empty()) aligned_bias_ = device_array<float>(device_, spec_.bias.size());
      try_to_add(finished, kMostMeasured, {.finishes = true});
    }
    return all;
  }
  if (const auto pairs = problem.in <= kFewInputs ? PixelPairs::of(problem) : std::nullopt) {
    allocate(problem.pass == ConvolutionPass::filter_gradient ? pairs_gradient_ : other_filter_, pairs->filter_size());
    try_to_add(pairs->problem(), kMostMeasured, {.pairs = pairs});
  }
  if (const auto flipped = FlippedFilter::of(problem)) {
    allocate(other_filter_, flipped->filter_size());
    try_to_add(flipped->problem(), kMostFlipped, {.flipped = flipped});
  }
  return all;
}

// No plan if all candidates are refused.
ConvolutionPasses::Algorithm ConvolutionPasses::measure(const Step& step, const ConvolutionTensors& tensors) {
  device_.join_branch();  // whose work would disturb the measurement
  const Queue queue = compute_queue();
  const std::vector<Candidates> all = candidates_of(problem_of(step));
  std::string key = "cudnn-" + std::to_string(cudnnGetVersion()) + " 5";  // the version of how this is measured
  std::vector<std::pair<const Candidates*, std::size_t>> sources;
  for (const Candidates& candidates : all) {
    key += " " + candidates.text;
    for (std::size_t index = 0; index < candidates.count; ++index) sources.emplace_back(&candidates, index);
  }
  std::map<std::size_t, Algorithm> algorithms;
  const auto algorithm = [&](std::size_t number) -> Algorithm& {
    const auto [place, is_new] = algorithms.try_emplace(number);
    const auto& [candidates, index] = sources[number];
    if (is_new) place->second = {candidates->plans.plan(index, kWorkspaceBytes), candidates->kind};
    return place->second;
  };
  const std::size_t best = fastest_algorithm(queue.stream, key, sources.size(), [&](std::size_t number) {
    const Algorithm& tried = algorithm(number);
    if (tried.plan == nullptr) return false;
    try {
      const bool ran = tried.plan->try_run(queue.cudnn, before(tried.kind, step, tensors, queue.stream), queue.workspace);
      if (ran) after(tried.kind, step, tensors, queue.stream);
      return ran;
    } catch (const DeviceLost&) {
      throw;
    } catch (const Error&) {
      return false;                 // a kernel cannot be queued if the plan has ended the recording
    }
  });
  if (best == sources.size()) return {};
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
