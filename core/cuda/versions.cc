#include "cuda/versions.h"

#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nccl.h>

#include <vector>

namespace mgcompare::cuda {
namespace {

constexpr int kMinCudnn = 90000, kMinNccl = 22700;

}  // namespace

Versions Versions::found() {
  Versions versions;
  // Without a driver some of these calls fail and leave 0.
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
  std::vector<std::string> reasons;
  // CUDA's minor version compatibility: the driver must have at least the runtime's major version.
  if (versions.driver == 0)
    reasons.push_back("no NVIDIA driver is installed");
  else if (versions.driver / 1000 < versions.runtime / 1000)
    reasons.push_back("the NVIDIA driver supports CUDA " + cuda_version(versions.driver) + ", this program needs CUDA " +
                      cuda_version(versions.runtime) + ": install a newer driver");
  const auto need = [&](const std::string& library, int found, int minimum) {
    if (found < minimum)
      reasons.push_back(library + " " + library_version(found) + " is installed, this program needs " +
                        library_version(minimum) + ": install a newer " + library);
  };
  need("cuDNN", versions.cudnn, kMinCudnn);
  need("NCCL", versions.nccl, kMinNccl);
  std::string all;
  for (const std::string& reason : reasons) all += (all.empty() ? "" : "; ") + reason;
  return all;
}

}  // namespace mgcompare::cuda
