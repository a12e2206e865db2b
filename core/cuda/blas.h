#pragma once

// Row-major matrix products by cuBLASLt on one stream. An algorithm is selected once per shape; results are deterministic.

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "config/kinds.h"
#include "mgcompare/device.h"

namespace mgcompare::cuda {

class Blas {
 public:
  explicit Blas(cudaStream_t stream);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  // fp32: products and sums in float32. tf32, bf16: factors are rounded before the multiplication; sums and stored values
  // remain float32. `precision` must not be automatic.
  // `bias`, unless null, is added to every row of C. With k = 0, C is set to zero.
  void multiply(const Matmul& problem, Precision precision, const float* bias = nullptr);

 private:
  struct Plan;
  using Key = std::tuple<std::size_t, std::size_t, std::size_t, bool, bool, int, bool, std::uint32_t>;
  Plan& plan(const Matmul& problem, Precision precision, bool with_bias);

  cudaStream_t stream_;
  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

}  // namespace mgcompare::cuda
