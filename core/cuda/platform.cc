// The CUDA module: its devices are the GPUs that this process may use.

#include "platform.h"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "collectives.h"
#include "device.h"
#include "feed.h"
#include "meeting.h"
#include "mgcompare/error.h"
#include "network.h"
#include "optimizer.h"
#include "recorder.h"

namespace mgcompare::cuda {
namespace {

std::string version_text(int version, int major, int minor) {
  return std::to_string(version / major) + "." + std::to_string(version % major / minor);
}

// cuDNN's and NCCL's numbers: 91900 is 9.19.0, 22809 is 2.28.9.
std::string three_part_version(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

class CudaPlatform : public Platform {
 public:
  CudaPlatform() {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaSuccess) {
      for (int index = 0; index < count; ++index) gpus_.push_back(std::make_unique<Gpu>()), gpus_.back()->index = index;
      return;
    }
    cudaGetLastError();
    cudaDriverGetVersion(&driver_);
    cudaRuntimeGetVersion(&runtime_);
    if (driver_ == 0) problem_ = "no NVIDIA driver is installed";
    else if (status == cudaErrorInsufficientDriver)
      problem_ = "the NVIDIA driver supports CUDA " + version_text(driver_, 1000, 10) + ", this program needs CUDA " +
                 version_text(runtime_, 1000, 10) + ": install a newer driver";
    else problem_ = cudaGetErrorString(status);
  }

  DeviceKind kind() const override { return DeviceKind::cuda; }

  std::vector<DeviceInfo> devices() const override {
    std::vector<DeviceInfo> found;
    for (const std::unique_ptr<Gpu>& gpu : gpus_) {
      cudaDeviceProp properties{};
      check(cudaGetDeviceProperties(&properties, gpu->index), "asking what a device is");
      found.push_back({gpu->index, properties.name, properties.totalGlobalMem, {}});
    }
    return found;
  }

  std::vector<std::pair<std::string, std::string>> facts() const override {
    if (!problem_.empty()) return {{"CUDA devices", "none: " + problem_}};
    int driver = 0, runtime = 0, nccl = 0;
    check(cudaDriverGetVersion(&driver), "asking for the driver's version");
    check(cudaRuntimeGetVersion(&runtime), "asking for CUDA's version");
    check(ncclGetVersion(&nccl), "asking for NCCL's version");
    return {{"CUDA driver supports", version_text(driver, 1000, 10)},
            {"CUDA", version_text(runtime, 1000, 10)},
            {"cuDNN", three_part_version(static_cast<int>(cudnnGetVersion()))},
            {"cuBLASLt", three_part_version(static_cast<int>(cublasLtGetVersion()))},
            {"NCCL", three_part_version(nccl)}};
  }

  std::unique_ptr<Device> open(int device_index) override {
    if (device_index < 0 || static_cast<std::size_t>(device_index) >= gpus_.size())
      throw Error("there is no GPU " + std::to_string(device_index) + ": this machine has " +
                  std::to_string(gpus_.size()) + (problem_.empty() ? "" : " (" + problem_ + ")"));
    return std::make_unique<CudaDevice>(*gpus_[static_cast<std::size_t>(device_index)]);
  }

  std::uint64_t peak_memory(int device_index) const override {
    return gpus_.at(static_cast<std::size_t>(device_index))->memory.peak();
  }
  void reset_peak_memory() override {
    for (const std::unique_ptr<Gpu>& gpu : gpus_) gpu->memory.reset_peak();
  }

  std::unique_ptr<Network> build(Device& device, const NetworkSpec& spec, const Numerics& numerics) override {
    return make_network(static_cast<CudaDevice&>(device), spec, numerics);
  }
  std::unique_ptr<Optimizer> optimizer(Device& device, const OptimizerConfig& config,
                                       const std::vector<Part>& parts) override {
    return make_optimizer(static_cast<CudaDevice&>(device), config, parts);
  }
  std::unique_ptr<Feed> upload(Device& device, const Split& split, double scale, bool keep_on_host) override {
    return std::make_unique<CudaFeed>(static_cast<CudaDevice&>(device), split, scale, keep_on_host);
  }

  std::unique_ptr<Recorder> recorder(Device& device, std::size_t steps) override {
    return std::make_unique<CudaRecorder>(static_cast<CudaDevice&>(device), steps);
  }

  std::unique_ptr<Collectives> connect(const std::vector<Device*>& device_of_rank) override {
    std::vector<CudaDevice*> devices;
    std::vector<int> indices;
    for (Device* device : device_of_rank) {
      devices.push_back(static_cast<CudaDevice*>(device));
      indices.push_back(device->index());
    }
    const bool shared = std::set<int>(indices.begin(), indices.end()).size() < indices.size();
    if (!shared && devices.size() > 1) return connect_by_nccl(devices);
    return std::make_unique<MeetingCollectives>(
        devices, [this](const std::vector<CudaDevice*>& leaders) { return connect_by_nccl(leaders); });
  }

 private:
  // Of different devices.
  std::unique_ptr<NcclCollectives> connect_by_nccl(const std::vector<CudaDevice*>& devices) {
    std::vector<int> indices;
    for (const CudaDevice* device : devices) indices.push_back(device->index());
    return std::make_unique<NcclCollectives>(devices, take(indices), [this](std::unique_ptr<Communicators> idle) {
      const std::lock_guard lock(mutex_);
      idle_[idle->devices] = std::move(idle);
    });
  }

  std::unique_ptr<Communicators> take(const std::vector<int>& indices) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = idle_.find(indices);
      if (found != idle_.end()) {
        std::unique_ptr<Communicators> communicators = std::move(found->second);
        idle_.erase(found);
        return communicators;
      }
    }
    return Communicators::make(indices);
  }

  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::string problem_;             // why there are no GPUs
  int driver_ = 0, runtime_ = 0;
  std::mutex mutex_;
  std::map<std::vector<int>, std::unique_ptr<Communicators>> idle_;
};

}  // namespace
}  // namespace mgcompare::cuda

extern "C" __attribute__((visibility("default"))) mgcompare::Platform* mgcompare_platform() {
  // Never destroyed: the driver may be gone by the time of static destructors.
  static auto* platform = new mgcompare::cuda::CudaPlatform();
  return platform;
}
