#include "status.h"

#include <string>

#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

[[noreturn]] void report(const char* library, const std::string& said, const char* what) {
  throw Error(std::string(library) + " reported '" + said + "' while " + what);
}

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  // An error that does not stay is forgotten here, or the next call would be blamed for it.
  cudaGetLastError();
  report("CUDA", cudaGetErrorString(status), what);
}

void check(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) report("cuDNN", cudnnGetErrorString(status), what);
}

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) report("cuBLASLt", "status " + std::to_string(static_cast<int>(status)), what);
}

void check(ncclResult_t status, const char* what) {
  if (status != ncclSuccess) report("NCCL", ncclGetErrorString(status), what);
}

}  // namespace mgcompare::cuda
