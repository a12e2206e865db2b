#pragma once

// Row-major matrix products by cuBLASLt on one stream. An algorithm is selected once per shape; results are deterministic.

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "config/kinds.h"
#include "cuda/element.h"
#include "mgcompare/device.h"

namespace mgcompare::cuda {

// How many elements apart the rows of a matrix begin (0: it has no gaps), and the matrices of several products.
struct Spacing {
  std::size_t rows = 0, matrices = 0;

  auto operator<=>(const Spacing&) const = default;
};

// C (m x n) = op(A) op(B), all row-major: op(A) is m x k, op(B) is k x n. A and B store `factors`, C stores `result`; fp32 factors of bf16
// results are not supported. With `count` products of one shape, the pointers are to the first matrices.
struct Product {
  const void *a = nullptr, *b = nullptr;
  void* c = nullptr;
  std::size_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  Element factors{}, result{};
  float alpha = 1, beta = 0;
  std::size_t count = 1;
  Spacing a_spacing, b_spacing, c_spacing;
};

class Blas {
 public:
  explicit Blas(cudaStream_t stream);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  // Several products are computed by one call; one after the other where that is measured to be faster, or where cuBLASLt has no algorithm for
  // all of them.
  // fp32: products and sums in float32. tf32, bf16: fp32 factors are rounded before the multiplication; sums remain float32.
  // `precision` must not be automatic. With k = 0, which only a single product without gaps may have, C is set to zero.
  void multiply(const Product& problem, Precision precision);
  // Whether algorithms are chosen by measurement, where the stream is not capturing, or by cuBLASLt's estimate. Measured
  // choices depend on noise, so that repeated runs could round differently.
  void set_measuring(bool measuring) { measuring_ = measuring; }

 private:
  struct Plan;
  using Key = std::tuple<std::size_t, std::size_t, std::size_t, bool, bool, Element, Element, std::size_t, Spacing, Spacing, Spacing,
                         Precision, std::uint32_t, bool>;
  Plan& plan(const Product& problem, Precision precision);
  std::unique_ptr<Plan> make_plan(const Product& problem, Precision precision, std::uint32_t bytes);
  cublasStatus_t queue(const Product& problem, Precision precision, const Plan& plan, std::size_t algorithm);

  cudaStream_t stream_;
  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  bool measuring_ = false;
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

}  // namespace mgcompare::cuda
