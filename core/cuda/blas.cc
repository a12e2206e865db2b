#include "cuda/blas.h"

#include <cstdint>

#include "cuda/caching_allocator.h"
#include "mgcompare/error.h"
#include "cuda/status.h"

namespace mgcompare::cuda {
namespace {

constexpr std::size_t kWorkspace = 32u << 20;
constexpr char kWhat[] = "multiplying matrices";

cublasComputeType_t compute_type(Precision precision) {
  if (precision == Precision::tf32) return CUBLAS_COMPUTE_32F_FAST_TF32;
  if (precision == Precision::bf16) return CUBLAS_COMPUTE_32F_FAST_16BF;
  return CUBLAS_COMPUTE_32F_PEDANTIC;
}

// Common alignment in bytes, 4, 8 or 16: slices of the flat vectors may begin at any element.
std::uint32_t alignment(const void* a, const void* b, const void* c) {
  const auto bits = reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b) |
                    reinterpret_cast<std::uintptr_t>(c);
  return bits % 16 == 0 ? 16 : bits % 8 == 0 ? 8 : 4;
}

}  // namespace

struct Blas::Plan {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
  cublasLtMatmulAlgo_t algorithm{};

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

Blas::Plan& Blas::plan(const Matmul& p, Precision precision, bool with_bias) {
  const std::uint32_t bytes = alignment(p.a, p.b, p.c);
  const Key key{p.m, p.n, p.k, p.transpose_a, p.transpose_b, static_cast<int>(precision), with_bias, bytes};
  const auto found = plans_.find(key);
  if (found != plans_.end()) return *found->second;
  auto plan = std::make_unique<Plan>();
  check(cublasLtMatmulDescCreate(&plan->operation, compute_type(precision), CUDA_R_32F), kWhat);
  // cuBLASLt is column-major, so it computes C^T = op(B)^T op(A)^T.
  const cublasOperation_t first = p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second = p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    check(cublasLtMatmulDescSetAttribute(plan->operation, attribute, &value, sizeof(value)), kWhat);
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, first);
  set(CUBLASLT_MATMUL_DESC_TRANSB, second);
  if (with_bias) set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  const auto layout = [&](cublasLtMatrixLayout_t* made, std::size_t rows, std::size_t columns) {
    check(cublasLtMatrixLayoutCreate(made, CUDA_R_32F, rows, columns, static_cast<std::int64_t>(rows)), kWhat);
  };
  layout(&plan->first, p.transpose_b ? p.k : p.n, p.transpose_b ? p.n : p.k);
  layout(&plan->second, p.transpose_a ? p.m : p.k, p.transpose_a ? p.k : p.m);
  layout(&plan->result, p.n, p.m);

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
  cublasLtMatmulHeuristicResult_t best{};
  int results = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, plan->operation, plan->first, plan->second, plan->result, plan->result,
                                     preference, 1, &best, &results);
  cublasLtMatmulPreferenceDestroy(preference);
  check(status, kWhat);
  if (results == 0)
    throw Error("cuBLASLt has no algorithm to multiply " + std::to_string(p.m) + " x " + std::to_string(p.k) + " by " +
                std::to_string(p.k) + " x " + std::to_string(p.n) + " matrices: report this with the config");
  plan->algorithm = best.algo;
  return *(plans_[key] = std::move(plan));
}

void Blas::multiply(const Matmul& p, Precision precision, const float* bias) {
  if (p.m == 0 || p.n == 0) return;
  if (p.k == 0) {
    if (p.beta != 0) throw Error("matmul() does not support k = 0 with beta != 0: set beta to 0 or k to at least 1");
    check(cudaMemsetAsync(p.c, 0, p.m * p.n * sizeof(float), stream_), kWhat);
    return;
  }
  Plan& plan = this->plan(p, precision, bias != nullptr);
  if (bias != nullptr)
    check(cublasLtMatmulDescSetAttribute(plan.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias)), kWhat);
  check(cublasLtMatmul(handle_, plan.operation, &p.alpha, p.b, plan.first, p.a, plan.second, &p.beta, p.c, plan.result,
                       p.c, plan.result, &plan.algorithm, workspace_, kWorkspace, stream_),
        kWhat);
}

}  // namespace mgcompare::cuda
