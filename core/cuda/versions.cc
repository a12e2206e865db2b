#include "versions.h"

#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nccl.h>

namespace mgcompare::cuda {
namespace {

constexpr int kLeastCudnn = 90000, kLeastNccl = 22700;

}  // namespace

Versions Versions::found() {
  Versions versions;
  // Without a driver some of these fail and leave 0.
  cudaDriverGetVersion(&versions.driver);
  cudaRuntimeGetVersion(&versions.runtime);
  cudaGetLastError();
  versions.cudnn = static_cast<int>(cudnnGetVersion());
  ncclGetVersion(&versions.nccl);
  return versions;
}

std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string library_version(int version) {
  const int major = version >= 10000 ? 10000 : 1000;
  return std::to_string(version / major) + "." + std::to_string(version % major / 100) + "." +
         std::to_string(version % 100);
}

std::string too_old(const Versions& versions) {
  if (versions.driver == 0) return "no NVIDIA driver is installed";
  // Within a major version a program runs on older drivers; across them the driver must be as new.
  if (versions.driver / 1000 < versions.runtime / 1000)
    return "the NVIDIA driver supports CUDA " + cuda_version(versions.driver) + ", this program needs CUDA " +
           cuda_version(versions.runtime) + ": install a newer driver";
  if (versions.cudnn < kLeastCudnn)
    return "cuDNN " + library_version(versions.cudnn) + " is installed, this program needs " +
           library_version(kLeastCudnn) + ": install a newer cuDNN";
  if (versions.nccl < kLeastNccl)
    return "NCCL " + library_version(versions.nccl) + " is installed, this program needs " +
           library_version(kLeastNccl) + ": install a newer NCCL";
  return "";
}

}  // namespace mgcompare::cuda
