#include "status.h"

#include <string>

#include "mgcompare/error.h"
#include "platform.h"

namespace mgcompare::cuda {
namespace {

[[noreturn]] void report(const char* library, const std::string& said, const char* what) {
  throw Error(std::string(library) + " reported '" + said + "' while " + what);
}

// A library could not get what it wanted and does not say how much that was.
class LibraryOutOfMemory : public OutOfMemory {
 public:
  LibraryOutOfMemory(const char* library, const char* what) : OutOfMemory(0, 0, 0) {
    std::size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    cudaGetLastError();
    text_ = std::string(library) + " found no memory while " + what + ", free " + std::to_string(free) + ", total " +
            std::to_string(total);
  }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

bool lost(cudaError_t status) {
  return status == cudaErrorNoDevice || status == cudaErrorECCUncorrectable || status == cudaErrorNvlinkUncorrectable;
}

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  // An error that does not stay is forgotten here, or the next call would be blamed for it.
  cudaGetLastError();
  if (status == cudaErrorMemoryAllocation) throw LibraryOutOfMemory("CUDA", what);
  if (lost(status)) throw DeviceLost(std::string("CUDA reported '") + cudaGetErrorString(status) + "' while " + what);
  report("CUDA", cudaGetErrorString(status), what);
}

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_ALLOC_FAILED) throw LibraryOutOfMemory("cuDNN", what);
  if (status != CUDNN_STATUS_SUCCESS) report("cuDNN", cudnnGetErrorString(status), what);
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw LibraryOutOfMemory("cuBLASLt", what);
  if (status != CUBLAS_STATUS_SUCCESS) report("cuBLASLt", "status " + std::to_string(static_cast<int>(status)), what);
}

void check(ncclResult_t status, const char* what) {
  if (status != ncclSuccess) report("NCCL", ncclGetErrorString(status), what);
}

}  // namespace mgcompare::cuda
