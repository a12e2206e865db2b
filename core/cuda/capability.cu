#include <algorithm>

#include "cuda/capability.h"
#include "cuda/status.h"

namespace mgcompare::cuda {
namespace {

constexpr int kTensorFloats = 80;     // first with tf32 and bf16
constexpr int kDependentLaunch = 90;  // first with programmatic dependent launch

__global__ void nothing() {}

}  // namespace

int min_capability() {
  // The list has all generations that nvcc compiles for; 750 means 7.5.
  return std::min({__CUDA_ARCH_LIST__}) / 10;
}

bool has_code() {
  cudaFuncAttributes attributes{};
  const cudaError_t status = cudaFuncGetAttributes(&attributes, nothing);
  cudaGetLastError();
  return status != cudaErrorNoKernelImageForDevice && status != cudaErrorInvalidDeviceFunction;
}

int compiled_capability() {
  // Called at every kernel launch: cache the answer for the thread's current device.
  thread_local int known = -1, compiled = 0;
  int device = 0;
  check(cudaGetDevice(&device), "launching a kernel");
  if (device != known) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, nothing), "launching a kernel");
    known = device;
    compiled = attributes.ptxVersion;
  }
  return compiled;
}

bool supports_dependent_launch() { return compiled_capability() >= kDependentLaunch; }

bool supports_tensor_floats() { return compiled_capability() >= kTensorFloats; }

std::vector<std::string> precisions_of(int capability) {
  if (capability < kTensorFloats) return {"fp32"};
  return {"fp32", "tf32", "bf16"};
}

std::string capability_text(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

std::string no_code(int capability) {
  return "has compute capability " + capability_text(capability) +
         ", for which this program has no code (it begins with " + capability_text(min_capability()) +
         "): build it for this GPU, with CMAKE_CUDA_ARCHITECTURES=" + std::to_string(capability);
}

}  // namespace mgcompare::cuda
