#include "cuda/status.h"

#include <cctype>
#include <string>

#include "mgcompare/error.h"
#include "platform/platform.h"

namespace mgcompare::cuda {
namespace {

[[noreturn]] void throw_error(const char* library, const std::string& message, const char* what) {
  throw Error(std::string(library) + " reported '" + message + "' while " + what);
}

// For libraries that do not report how much memory they needed.
[[noreturn]] void throw_out_of_memory(const char* library, const char* what) {
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  cudaGetLastError();
  throw OutOfMemory(std::string(library) + " could not allocate memory while " + what, free, total);
}

bool lost(cudaError_t status) {
  return status == cudaErrorNoDevice || status == cudaErrorECCUncorrectable || status == cudaErrorNvlinkUncorrectable;
}

// NCCL's last message: usually the function that failed, and the error text of CUDA or the system.
std::string last_nccl_message() {
  const char* const text = ncclGetLastError(nullptr);
  std::string message = text == nullptr ? "" : text;
  while (!message.empty() && std::isspace(static_cast<unsigned char>(message.back())) != 0) message.pop_back();
  return message;
}

// Memory that NCCL allocates for itself in addition to a request.
constexpr std::size_t kNcclOverhead = 64u << 20;

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  // Clears the error unless it is sticky. Otherwise the next check would report it again.
  cudaGetLastError();
  if (status == cudaErrorMemoryAllocation) throw_out_of_memory("CUDA", what);
  if (lost(status)) throw DeviceLost(std::string("CUDA reported '") + cudaGetErrorString(status) + "' while " + what);
  throw_error("CUDA", cudaGetErrorString(status), what);
}

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_ALLOC_FAILED) throw_out_of_memory("cuDNN", what);
  if (status != CUDNN_STATUS_SUCCESS) throw_error("cuDNN", cudnnGetErrorString(status), what);
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw_out_of_memory("cuBLASLt", what);
  if (status != CUBLAS_STATUS_SUCCESS) throw_error("cuBLASLt", "status " + std::to_string(static_cast<int>(status)), what);
}

bool ran_out_of_memory(ncclResult_t status, std::size_t bytes, const char* what) {
  if (status != ncclUnhandledCudaError && status != ncclSystemError) return false;
  std::size_t free = 0, total = 0;
  const cudaError_t query = cudaMemGetInfo(&free, &total);
  cudaGetLastError();
  if (lost(query)) check(query, what);
  if (last_nccl_message().find("out of memory") != std::string::npos) return true;
  return query == cudaSuccess && free < bytes + kNcclOverhead;
}

void check(ncclResult_t status, const char* what) {
  if (status == ncclSuccess) return;
  if (ran_out_of_memory(status, 0, what)) throw_out_of_memory("NCCL", what);
  const std::string message = last_nccl_message();
  throw_error("NCCL", ncclGetErrorString(status) + (message.empty() ? "" : ": " + message), what);
}

}  // namespace mgcompare::cuda
