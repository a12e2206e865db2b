#include "cuda/status.h"

#include <cctype>
#include <string>

#include "mgcompare/error.h"
#include "platform/platform.h"

namespace mgcompare::cuda {
namespace {

[[noreturn]] void report(const char* library, const std::string& said, const char* what) {
  throw Error(std::string(library) + " reported '" + said + "' while " + what);
}

// A library could not get what it wanted and does not say how much that was.
[[noreturn]] void report_no_memory(const char* library, const char* what) {
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  cudaGetLastError();
  throw OutOfMemory(std::string(library) + " found no memory while " + what, free, total);
}

bool lost(cudaError_t status) {
  return status == cudaErrorNoDevice || status == cudaErrorECCUncorrectable || status == cudaErrorNvlinkUncorrectable;
}

// The last thing that NCCL complained of; mostly the function and the system's or CUDA's own words.
std::string last_words_of_nccl() {
  const char* const said = ncclGetLastError(nullptr);
  std::string words = said == nullptr ? "" : said;
  while (!words.empty() && std::isspace(static_cast<unsigned char>(words.back())) != 0) words.pop_back();
  return words;
}

// What NCCL takes for itself beside what it is asked for.
constexpr std::size_t kNcclMargin = 64u << 20;

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  // An error that does not stay is forgotten here, or the next call would be blamed for it.
  cudaGetLastError();
  if (status == cudaErrorMemoryAllocation) report_no_memory("CUDA", what);
  if (lost(status)) throw DeviceLost(std::string("CUDA reported '") + cudaGetErrorString(status) + "' while " + what);
  report("CUDA", cudaGetErrorString(status), what);
}

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_ALLOC_FAILED) report_no_memory("cuDNN", what);
  if (status != CUDNN_STATUS_SUCCESS) report("cuDNN", cudnnGetErrorString(status), what);
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_ALLOC_FAILED) report_no_memory("cuBLASLt", what);
  if (status != CUBLAS_STATUS_SUCCESS) report("cuBLASLt", "status " + std::to_string(static_cast<int>(status)), what);
}

bool ran_out_of_memory(ncclResult_t status, std::size_t asked, const char* what) {
  if (status != ncclUnhandledCudaError && status != ncclSystemError) return false;
  std::size_t free = 0, total = 0;
  const cudaError_t answer = cudaMemGetInfo(&free, &total);
  cudaGetLastError();
  if (lost(answer)) check(answer, what);
  if (last_words_of_nccl().find("out of memory") != std::string::npos) return true;
  return answer == cudaSuccess && free < asked + kNcclMargin;
}

void check(ncclResult_t status, const char* what) {
  if (status == ncclSuccess) return;
  if (ran_out_of_memory(status, 0, what)) report_no_memory("NCCL", what);
  const std::string words = last_words_of_nccl();
  report("NCCL", ncclGetErrorString(status) + (words.empty() ? "" : ": " + words), what);
}

}  // namespace mgcompare::cuda
