#include "cuda/convolution_plan.h"

#include <algorithm>
#include <array>
#include <deque>
#include <sstream>
#include <vector>

#include "cuda/status.h"

namespace mgcompare::cuda {
namespace {

constexpr char kWhat[] = "computing a convolution";
// Identifiers of the tensors of a graph; from kProduct on, of those that are in registers only.
constexpr std::int64_t kImage = 1, kFilter = 2, kResult = 3, kBias = 4, kProduct = 5, kSum = 6;
constexpr std::int64_t kMostCandidates = 24;

cudnnDataType_t type_of(Element element) { return element == Element::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT; }

// The dimensions are in the order (first, channels, rows, columns), however they are stored.
CudnnDescriptor tensor(std::int64_t id, Element element, bool channels_last, std::int64_t first, std::int64_t channels, std::int64_t rows,
                       std::int64_t columns) {
  CudnnDescriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type_of(element))
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, {first, channels, rows, columns})
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, {id})
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16});
  if (id >= kProduct) {
    const bool in_registers = true;
    made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &in_registers);
  }
  if (channels_last) made.set(CUDNN_ATTR_TENSOR_STRIDES, {rows * columns * channels, 1, columns * channels, channels});
  else made.set(CUDNN_ATTR_TENSOR_STRIDES, {rows * columns * channels, rows * columns, columns, 1});
  if (!made.finalize()) check(CUDNN_STATUS_BAD_PARAM, kWhat);
  return made;
}

// The names of the attributes of each pass' operation.
struct Names {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t image, filter, result, convolution, alpha, beta;
};

Names names_of(ConvolutionPass pass) {
  if (pass == ConvolutionPass::forward)
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  if (pass == ConvolutionPass::data_gradient)
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

// Whether an engine computes as ConvolutionCandidates promises.
bool suits(const CudnnDescriptor& configuration, const ConvolutionProblem& problem) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();
  configuration.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  std::array<cudnnBackendBehaviorNote_t, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT> behavior{};
  const std::int64_t known = engine.get(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                                        static_cast<std::int64_t>(behavior.size()), behavior.data());
  // Compiling takes about a second for each candidate, and there is another way to add a bias.
  const bool can_do_without = problem.bias || problem.relu;
  if (can_do_without && std::count(behavior.begin(), behavior.begin() + known, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) > 0) return false;
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  const std::int64_t count = engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                        static_cast<std::int64_t>(notes.size()), notes.data());
  return std::none_of(notes.begin(), notes.begin() + count, [&](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      case CUDNN_NUMERICAL_NOTE_FFT:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13: return true;
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS: return problem.precision == Precision::fp32;
      default: return false;
    }
  });
}

}  // namespace

std::string ConvolutionProblem::text() const {
  std::ostringstream text;
  text << static_cast<int>(pass);
  for (const std::int64_t number : {samples, in, height, width, out, down, across, kernel[0], kernel[1], stride[0],
                                    stride[1], padding[0], padding[1]})
    text << '-' << number;
  text << '-' << static_cast<int>(element) << '-' << to_string(precision) << (channels_last ? "" : "-planar") << (adds ? "-adds" : "")
       << (bias ? "-bias" : "") << (relu ? "-relu" : "");
  return text.str();
}

cudnnStatus_t ConvolutionPlan::queue(cudnnHandle_t cudnn, const ConvolutionTensors& tensors, void* workspace) const {
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  const std::int64_t identifiers[] = {kImage, kFilter, kResult, kBias};
  const void* const pointers[] = {tensors.image, tensors.filter, tensors.result, tensors.bias};
  const std::int64_t count = tensors.bias == nullptr ? 3 : 4;
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, identifiers)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers)
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  if (!pack.finalize()) check(CUDNN_STATUS_BAD_PARAM, kWhat);
  return cudnnBackendExecute(cudnn, plan_.get(), pack.get());
}

void ConvolutionPlan::run(cudnnHandle_t cudnn, const ConvolutionTensors& tensors, void* workspace) const {
  check(queue(cudnn, tensors, workspace), kWhat);
}

bool ConvolutionPlan::try_run(cudnnHandle_t cudnn, const ConvolutionTensors& tensors, void* workspace) const {
  return queue(cudnn, tensors, workspace) == CUDNN_STATUS_SUCCESS;
}

struct ConvolutionCandidates::Graph {
  cudnnHandle_t cudnn = nullptr;
  std::deque<CudnnDescriptor> parts;  // they refer to each other
  std::vector<cudnnBackendDescriptor_t> operations;
  CudnnDescriptor graph{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  std::vector<CudnnDescriptor> configurations;

  // Returns whether cuDNN supports the problem.
  bool describe(const ConvolutionProblem& p) {
    const auto add_tensor = [&](std::int64_t id, Element element, std::int64_t first, std::int64_t channels, std::int64_t rows,
                                std::int64_t columns) -> CudnnDescriptor& {
      return parts.emplace_back(tensor(id, element, p.channels_last, first, channels, rows, columns));
    };
    const auto add_result = [&](std::int64_t id) -> CudnnDescriptor& {
      return add_tensor(id, id == kResult ? p.element : Element::fp32, p.samples, p.out, p.down, p.across);
    };
    CudnnDescriptor& image = add_tensor(kImage, p.element, p.samples, p.in, p.height, p.width);
    CudnnDescriptor& filter = add_tensor(kFilter, p.element, p.out, p.in, p.kernel[0], p.kernel[1]);
    CudnnDescriptor* result = &add_result(p.bias || p.relu ? kProduct : kResult);
    if (!add_convolution(p, image, filter, *result)) return false;
    if (p.bias) {
      CudnnDescriptor& bias = add_tensor(kBias, Element::fp32, 1, p.out, 1, 1);
      CudnnDescriptor& sum = add_result(p.relu ? kSum : kResult);
      if (!add_pointwise(CUDNN_POINTWISE_ADD, *result, &bias, sum)) return false;
      result = &sum;
    }
    if (p.relu && !add_pointwise(CUDNN_POINTWISE_RELU_FWD, *result, nullptr, add_result(kResult))) return false;
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(operations.size()), operations.data());
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // before 9.15 cuDNN needs the handle
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &cudnn);
#pragma GCC diagnostic pop
    return graph.finalize();
  }

  bool add_convolution(const ConvolutionProblem& p, const CudnnDescriptor& image, const CudnnDescriptor& filter, const CudnnDescriptor& result) {
    CudnnDescriptor& convolution = parts.emplace_back(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT)
        .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode)
        .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2})
        .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {p.padding[0], p.padding[1]})
        .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {p.padding[0], p.padding[1]})
        .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, {1, 1})
        .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {p.stride[0], p.stride[1]});
    if (!convolution.finalize()) return false;
    const Names names = names_of(p.pass);
    const float one = 1, before = p.adds ? 1 : 0;
    CudnnDescriptor& operation = parts.emplace_back(names.operation);
    operation.set(names.image, image).set(names.filter, filter).set(names.result, result).set(names.convolution, convolution)
        .set(names.alpha, CUDNN_TYPE_FLOAT, 1, &one).set(names.beta, CUDNN_TYPE_FLOAT, 1, &before);
    operations.push_back(operation.get());
    return operation.finalize();
  }

  bool add_pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& in, const CudnnDescriptor* other, const CudnnDescriptor& out) {
    CudnnDescriptor& pointwise = parts.emplace_back(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    pointwise.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode).set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
    if (mode == CUDNN_POINTWISE_RELU_FWD) {
      const cudnnNanPropagation_t propagate = CUDNN_PROPAGATE_NAN;  // or divergence could go unnoticed
      pointwise.set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &propagate);
    }
    if (!pointwise.finalize()) return false;
    CudnnDescriptor& operation = parts.emplace_back(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise).set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, in)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, out);
    if (other != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *other);
    operations.push_back(operation.get());
    return operation.finalize();
  }

  void find(cudnnBackendHeurMode_t mode, const ConvolutionProblem& problem) {
    CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph).set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (!heuristics.finalize()) return;
    std::vector<CudnnDescriptor> found;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (std::int64_t k = 0; k < kMostCandidates; ++k) {
      found.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
      raw.push_back(found.back().get());
    }
    const std::int64_t count =
        heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, kMostCandidates, raw.data());
    for (std::int64_t k = 0; k < std::min(count, kMostCandidates); ++k) {
      CudnnDescriptor& one = found[static_cast<std::size_t>(k)];
      if (suits(one, problem)) configurations.push_back(std::move(one));
    }
  }
};

ConvolutionCandidates::ConvolutionCandidates(cudnnHandle_t cudnn, const ConvolutionProblem& p) : graph_(std::make_shared<Graph>()) {
  graph_->cudnn = cudnn;
  if (!graph_->describe(p)) return;
  for (const cudnnBackendHeurMode_t heuristic : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    if (graph_->configurations.empty()) graph_->find(heuristic, p);
  }
}

std::size_t ConvolutionCandidates::size() const { return graph_->configurations.size(); }

std::unique_ptr<ConvolutionPlan> ConvolutionCandidates::plan(std::size_t index, std::size_t workspace) const {
  CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &graph_->cudnn);
#pragma GCC diagnostic pop
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, graph_->configurations.at(index));
  if (!plan.finalize()) return nullptr;
  std::int64_t bytes = 0;
  plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes);
  if (static_cast<std::size_t>(bytes) > workspace) return nullptr;
  return std::make_unique<ConvolutionPlan>(graph_, std::move(plan));
}

}  // namespace mgcompare::cuda
