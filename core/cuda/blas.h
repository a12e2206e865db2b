#pragma once

// Row-major matrix products by cuBLASLt on one stream. An algorithm is selected once per shape; results are deterministic.

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "mgcompare/device.h"

namespace mgcompare::cuda {

// fp32: products and sums in float32. tf32, bf16: factors are rounded to this type before they are multiplied; sums and
// all data in memory stay float32.
enum class Precision { fp32, tf32, bf16 };

// Throws Error for an unknown name.
Precision precision_of(const std::string& name);

class Blas {
 public:
  explicit Blas(cudaStream_t stream);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

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
