#include "cuda/blas.h"

#include <array>
#include <cstdint>
#include <sstream>
#include <utility>
#include <vector>

#include "cuda/algorithm_choice.h"
#include "cuda/caching_allocator.h"
#include "mgcompare/error.h"
#include "cuda/status.h"

namespace mgcompare::cuda {
namespace {

constexpr std::size_t kWorkspace = 32u << 20;
constexpr int kMostMeasured = 8;    // algorithms
constexpr char kWhat[] = "multiplying matrices";

cudaDataType_t type_of(Element element) { return element == Element::bf16 ? CUDA_R_16BF : CUDA_R_32F; }

cublasComputeType_t compute_type(Element factors, Precision precision) {
  if (factors == Element::bf16) return CUBLAS_COMPUTE_32F;
  if (precision == Precision::tf32) return CUBLAS_COMPUTE_32F_FAST_TF32;
  if (precision == Precision::bf16) return CUBLAS_COMPUTE_32F_FAST_16BF;
  return CUBLAS_COMPUTE_32F_PEDANTIC;
}

// Common alignment in bytes of all matrices, 4, 8 or 16: slices of the flat vectors may begin at any element.
std::uint32_t alignment(const Product& p) {
  const auto bits_of = [](const void* first, const Spacing& spacing, Element element) {
    return reinterpret_cast<std::uintptr_t>(first) | spacing.matrices * bytes_of(element);
  };
  const auto bits = bits_of(p.a, p.a_spacing, p.factors) | bits_of(p.b, p.b_spacing, p.factors) | bits_of(p.c, p.c_spacing, p.result);
  return bits % 16 == 0 ? 16 : bits % 8 == 0 ? 8 : 4;
}

// One of several products.
Product one_of(Product p, std::size_t index) {
  const auto moved = [&](const void* first, Spacing& spacing, Element element) {
    return static_cast<const std::uint8_t*>(first) + index * std::exchange(spacing.matrices, 0) * bytes_of(element);
  };
  p.a = moved(p.a, p.a_spacing, p.factors);
  p.b = moved(p.b, p.b_spacing, p.factors);
  p.c = const_cast<std::uint8_t*>(moved(p.c, p.c_spacing, p.result));
  p.count = 1;
  return p;
}

}  // namespace

struct Blas::Plan {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
  std::vector<cublasLtMatmulAlgo_t> algorithms;  // sorted by cuBLASLt's estimate
  std::size_t chosen = 0;           // algorithms.size(): each product by itself

  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    for (cublasLtMatrixLayout_t layout : {first, second, result})
      if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
    if (operation != nullptr) cublasLtMatmulDescDestroy(operation);
  }
};

Blas::Blas(cudaStream_t stream) : stream_(stream) {
  check(cublasLtCreate(&handle_), "starting cuBLASLt");
  workspace_ = allocate_device(kWorkspace);
}

Blas::~Blas() {
  plans_.clear();
  cudaFree(workspace_);
  cublasLtDestroy(handle_);
}

std::unique_ptr<Blas::Plan> Blas::make_plan(const Product& p, Precision precision, std::uint32_t bytes) {
  auto plan = std::make_unique<Plan>();
  check(cublasLtMatmulDescCreate(&plan->operation, compute_type(p.factors, precision), CUDA_R_32F), kWhat);
  // cuBLASLt is column-major, so it computes C^T = op(B)^T op(A)^T.
  const cublasOperation_t first = p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second = p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    check(cublasLtMatmulDescSetAttribute(plan->operation, attribute, &value, sizeof(value)), kWhat);
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, first);
  set(CUBLASLT_MATMUL_DESC_TRANSB, second);
  const auto layout = [&](cublasLtMatrixLayout_t* made, Element element, std::size_t rows, std::size_t columns, const Spacing& spacing) {
    check(cublasLtMatrixLayoutCreate(made, type_of(element), rows, columns, static_cast<std::int64_t>(spacing.rows == 0 ? rows : spacing.rows)), kWhat);
    if (p.count == 1) return;
    const auto count = static_cast<std::int32_t>(p.count);
    const auto stride = static_cast<std::int64_t>(spacing.matrices);
    check(cublasLtMatrixLayoutSetAttribute(*made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)), kWhat);
    check(cublasLtMatrixLayoutSetAttribute(*made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)), kWhat);
  };
  layout(&plan->first, p.factors, p.transpose_b ? p.k : p.n, p.transpose_b ? p.n : p.k, p.b_spacing);
  layout(&plan->second, p.factors, p.transpose_a ? p.m : p.k, p.transpose_a ? p.k : p.m, p.a_spacing);
  layout(&plan->result, p.result, p.n, p.m, p.c_spacing);

  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), kWhat);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)), kWhat);
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace);
  // Only deterministic split-K reductions: no in-place atomic additions.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE));
  for (const auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                               CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    prefer(attribute, bytes);
  std::array<cublasLtMatmulHeuristicResult_t, kMostMeasured> found{};
  int results = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, plan->operation, plan->first, plan->second, plan->result, plan->result,
                                     preference, kMostMeasured, found.data(), &results);
  cublasLtMatmulPreferenceDestroy(preference);
  check(status, kWhat);
  if (results == 0 && p.count == 1)
    throw Error("cuBLASLt has no algorithm to multiply " + std::to_string(p.m) + " x " + std::to_string(p.k) + " by " +
                std::to_string(p.k) + " x " + std::to_string(p.n) + " matrices: report this with the config");
  for (int k = 0; k < results; ++k) plan->algorithms.push_back(found[static_cast<std::size_t>(k)].algo);
  return plan;
}

Blas::Plan& Blas::plan(const Product& p, Precision precision) {
  const std::uint32_t bytes = alignment(p);
  const Key key{p.m, p.n, p.k, p.transpose_a, p.transpose_b, p.factors, p.result, p.count, p.a_spacing, p.b_spacing, p.c_spacing, precision, bytes, measuring_};
  std::unique_ptr<Plan>& plan = plans_[key];
  if (plan != nullptr) return *plan;
  plan = make_plan(p, precision, bytes);
  // Only a product that overwrites its result can be repeated.
  const std::size_t candidates = plan->algorithms.size() + (p.count > 1 ? 1 : 0);
  if (!measuring_ || p.beta != 0 || candidates < 2 || !can_measure(stream_)) return *plan;
  std::ostringstream problem;
  problem << "cublaslt-" << cublasLtGetVersion() << ' ' << p.m << '-' << p.n << '-' << p.k << '-' << p.transpose_a << p.transpose_b
          << '-' << static_cast<int>(p.factors) << static_cast<int>(p.result) << '-' << to_string(precision) << '-' << bytes;
  if (p.count > 1) problem << "-x" << p.count;
  for (const auto& [name, spacing] : {std::pair{'a', p.a_spacing}, std::pair{'b', p.b_spacing}, std::pair{'c', p.c_spacing}})
    if (spacing != Spacing()) problem << '-' << name << spacing.rows << '.' << spacing.matrices;
  for (std::size_t index = 0; p.count > 1 && index < p.count; ++index) this->plan(one_of(p, index), precision);  // measured before, not within
  const std::size_t best = fastest_algorithm(stream_, problem.str(), candidates, [&](std::size_t index) {
    return queue(p, precision, *plan, index) == CUBLAS_STATUS_SUCCESS;
  });
  if (best < candidates) plan->chosen = best;
  return *plan;
}

cublasStatus_t Blas::queue(const Product& p, Precision precision, const Plan& plan, std::size_t algorithm) {
  if (algorithm == plan.algorithms.size()) {
    for (std::size_t index = 0; index < p.count; ++index) {
      const Product one = one_of(p, index);
      const Plan& of_one = this->plan(one, precision);
      if (const cublasStatus_t status = queue(one, precision, of_one, of_one.chosen); status != CUBLAS_STATUS_SUCCESS) return status;
    }
    return CUBLAS_STATUS_SUCCESS;
  }
  return cublasLtMatmul(handle_, plan.operation, &p.alpha, p.b, plan.first, p.a, plan.second, &p.beta, p.c, plan.result, p.c,
                        plan.result, &plan.algorithms[algorithm], workspace_, kWorkspace, stream_);
}

void Blas::multiply(const Product& p, Precision precision) {
  if (p.m == 0 || p.n == 0 || p.count == 0) return;
  if (p.k == 0) {
    if (p.beta != 0) throw Error("matmul() does not support k = 0 with beta != 0: set beta to 0 or k to at least 1");
    check(cudaMemsetAsync(p.c, 0, p.m * p.n * bytes_of(p.result), stream_), kWhat);
    return;
  }
  const Plan& plan = this->plan(p, precision);
  check(queue(p, precision, plan, plan.chosen), kWhat);
}

}  // namespace mgcompare::cuda
