// The CUDA platform module. Its devices are the GPUs that are visible to this process.

#include "platform/platform.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "cuda/capability.h"
#include "cuda/collectives.h"
#include "cuda/device.h"
#include "cuda/feed.h"
#include "cuda/device_timeline.h"
#include "cuda/graph_recorder.h"
#include "cuda/network.h"
#include "cuda/nvml.h"
#include "cuda/optimizer.h"
#include "cuda/shared_device_collectives.h"
#include "cuda/versions.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

// "0000:1b:00.0". NVML identifies GPUs by this address; their indices depend on CUDA_VISIBLE_DEVICES.
std::string pci_address(int index) {
  std::array<char, 32> address{};
  check(cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), index), "querying a device's PCI address");
  return address.data();
}

int capability_of(int index) {
  return device_attribute(index, cudaDevAttrComputeCapabilityMajor) * 10 +
         device_attribute(index, cudaDevAttrComputeCapabilityMinor);
}

// For messages: the user's selection may be the reason that no GPU is visible.
std::string visible_devices() {
  const char* const value = std::getenv("CUDA_VISIBLE_DEVICES");
  return value == nullptr ? "" : std::string(" (CUDA_VISIBLE_DEVICES is '") + value + "')";
}

// Whether it holds on each of them; an abort may have left communicators on some hosts only.
bool on_every_host(const HostSpan& hosts, bool here) {
  const std::vector<std::string> answers = gather(hosts, here ? "yes" : "no");
  std::uint8_t all = std::all_of(answers.begin(), answers.end(), [](const std::string& answer) { return answer == "yes"; });
  broadcast(hosts, &all, sizeof(all));
  return all != 0;
}

class CudaPlatform : public Platform {
  using IdleKey = std::pair<std::vector<int>, std::size_t>;  // indices of devices, number of hosts

 public:
  CudaPlatform() : versions_(Versions::found()), problem_(too_old(versions_)) {
    if (!problem_.empty()) return;
    int count = 0;
    if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess) {
      cudaGetLastError();
      problem_ = status == cudaErrorInsufficientDriver
                     ? "the NVIDIA driver supports CUDA " + cuda_version(versions_.driver) + ", which is too old for CUDA " +
                           cuda_version(versions_.runtime) + " of this program: install a newer driver"
                     : std::string("the NVIDIA driver finds no GPU: ") + cudaGetErrorString(status) + visible_devices();
      return;
    }
    for (int index = 0; index < count; ++index) gpus_.push_back(std::make_unique<Gpu>()), gpus_.back()->index = index;
  }

  DeviceKind kind() const override { return DeviceKind::cuda; }

  std::vector<DeviceInfo> devices() const override {
    if (!problem_.empty()) throw Error(problem_);
    std::vector<DeviceInfo> found;
    for (const std::unique_ptr<Gpu>& gpu : gpus_) {
      // A faulty GPU must not hide the others.
      DeviceInfo info{gpu->index, "unknown", 0, {}, "GPU " + std::to_string(gpu->index), {}};
      try {
        describe(info);
      } catch (const Error& error) {
        info.problems.push_back(std::string("does not report its properties: ") + error.what());
      }
      found.push_back(std::move(info));
    }
    return found;
  }

  std::vector<std::pair<std::string, std::string>> facts() const override {
    std::vector<std::pair<std::string, std::string>> facts = {
        {"CUDA", cuda_version(versions_.runtime)},
        {"cuDNN", library_version(versions_.cudnn)},
        {"cuBLASLt", library_version(static_cast<int>(cublasLtGetVersion()))},
        {"NCCL", library_version(versions_.nccl)}};
    if (versions_.driver == 0) return facts;
    facts.insert(facts.begin(), {"CUDA driver supports", cuda_version(versions_.driver)});
    facts.insert(facts.begin(), nvml() ? std::pair<std::string, std::string>{"NVIDIA driver", nvml()->driver_version()}
                                       : std::pair<std::string, std::string>{"NVML", nvml_problem_});
    return facts;
  }

  bool reaches(int from, int to) const override {
    if (from == to) return true;
    int possible = 0;
    check(cudaDeviceCanAccessPeer(&possible, from, to), "querying peer access");
    return possible != 0;
  }

  std::unique_ptr<Device> open(int device_index) override {
    if (device_index < 0 || static_cast<std::size_t>(device_index) >= gpus_.size())
      throw Error("there is no GPU " + std::to_string(device_index) + ": this process can use " +
                  std::to_string(gpus_.size()) + " GPUs" + (problem_.empty() ? "" : " (" + problem_ + ")"));
    return std::make_unique<CudaDevice>(*gpus_[static_cast<std::size_t>(device_index)]);
  }

  std::uint64_t peak_memory(int device_index) const override {
    const Gpu& gpu = *gpus_.at(static_cast<std::size_t>(device_index));
    return gpu.memory.peak() + gpu.window_memory.peak();
  }
  void reset_peak_memory() override {
    for (const std::unique_ptr<Gpu>& gpu : gpus_) gpu->memory.reset_peak(), gpu->window_memory.reset_peak();
  }

  std::unique_ptr<Network> build(Device& device, const NetworkSpec& spec, const Numerics& numerics) override {
    check_support(device.index(), numerics.precision);
    return make_network(static_cast<CudaDevice&>(device), spec, numerics);
  }
  std::unique_ptr<Optimizer> optimizer(Device& device, const OptimizerConfig& config,
                                       const std::vector<Part>& parts) override {
    return make_optimizer(static_cast<CudaDevice&>(device), config, parts);
  }
  std::unique_ptr<Feed> upload(Device& device, const SampleSpec& spec, const Split& split, const Preparation& preparation,
                               bool keep_on_host) override {
    return std::make_unique<CudaFeed>(static_cast<CudaDevice&>(device), spec, split, preparation, keep_on_host);
  }

  std::unique_ptr<ExchangedVector> exchanged_vector(Device& device, std::size_t floats) override {
    return std::make_unique<Window>(static_cast<CudaDevice&>(device), floats);
  }

  std::unique_ptr<GraphRecorder> recorder(Device& device, std::size_t steps) override {
    return std::make_unique<CudaGraphRecorder>(static_cast<CudaDevice&>(device), steps);
  }

  std::unique_ptr<DeviceTimeline> timeline(Device& device) override {
    return std::make_unique<CudaTimeline>(static_cast<CudaDevice&>(device));
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
    return std::make_unique<SharedDeviceCollectives>(
        devices, [this](const std::vector<CudaDevice*>& leaders) { return connect_by_nccl(leaders); });
  }

  std::unique_ptr<Collectives> connect_hosts(const std::vector<Device*>& device_of_rank, const HostSpan& hosts, bool in_rank_order) override {
    std::vector<CudaDevice*> devices;
    for (Device* device : device_of_rank) devices.push_back(static_cast<CudaDevice*>(device));
    return connect_by_nccl(devices, hosts, in_rank_order);
  }

 private:
  void describe(DeviceInfo& info) const {
    info.id = pci_address(info.index);
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, info.index), "querying the properties of a device");
    info.name = properties.name;
    info.memory = properties.totalGlobalMem;
    const int capability = capability_of(info.index);
    info.precisions = precisions_of(capability);
    info.notes.push_back("compute capability " + capability_text(capability));
    info.notes.push_back("PCI " + info.id);
    if (nvml()) {
      Nvml::Condition condition = nvml()->condition(info.id);
      info.notes.insert(info.notes.end(), condition.notes.begin(), condition.notes.end());
      info.problems = std::move(condition.problems);
    }
    if (capability < min_capability()) info.problems.push_back(no_code(capability));
  }

  class Window : public ExchangedVector {
   public:
    Window(CudaDevice& device, std::size_t floats) : memory_(device, floats) {}
    Vec values() const override { return memory_.span(); }

   private:
    WindowMemory memory_;
  };

  // Throws Error if the device cannot run this build's code or does not support the precision.
  static void check_support(int index, Precision wanted) {
    const std::string precision(to_string(wanted));
    const int capability = capability_of(index);
    const std::string name = "cuda:" + std::to_string(index) + " ";
    const DeviceGuard guard(index);
    if (!has_code()) throw Error(name + no_code(capability));
    const std::vector<std::string> supported = precisions_of(capability);
    if (std::find(supported.begin(), supported.end(), precision) == supported.end())
      throw Error(name + "has compute capability " + capability_text(capability) + " and does not support " + precision +
                  ": set numerics.precision to fp32");
  }

  // The devices must be distinct.
  std::unique_ptr<NcclCollectives> connect_by_nccl(const std::vector<CudaDevice*>& devices, const HostSpan& hosts = {}, bool in_rank_order = false) {
    std::vector<int> indices;
    std::vector<Vec> windows;
    for (const CudaDevice* device : devices) indices.push_back(device->index()), windows.push_back(device->window_vector());
    std::unique_ptr<Communicators> communicators = take_communicators(indices, hosts);
    if (hosts.count == 1) communicators->register_windows(windows);
    const auto give_back = [this](std::unique_ptr<Communicators> idle) {
      const std::lock_guard lock(mutex_);
      idle_[{idle->devices, idle->hosts}] = std::move(idle);
    };
    return std::make_unique<NcclCollectives>(devices, std::move(communicators), give_back, in_rank_order);
  }

  std::unique_ptr<Communicators> take_communicators(const std::vector<int>& indices, const HostSpan& hosts) {
    std::unique_ptr<Communicators> idle = take_idle({indices, hosts.count});
    if (on_every_host(hosts, idle != nullptr)) return idle;
    std::vector<Gpu*> gpus;
    for (const int index : indices) gpus.push_back(gpus_.at(static_cast<std::size_t>(index)).get());
    return retry_without_idle_memory(gpus, [&] { return Communicators::make(indices, hosts); });
  }

  std::unique_ptr<Communicators> take_idle(const IdleKey& key) {
    const std::lock_guard lock(mutex_);
    const auto found = idle_.find(key);
    if (found == idle_.end()) return nullptr;
    std::unique_ptr<Communicators> communicators = std::move(found->second);
    idle_.erase(found);
    return communicators;
  }

  // Loads NVML at the first call: workers that only train do not need it.
  const Nvml* nvml() const {
    if (nvml_ == nullptr && nvml_problem_.empty()) {
      try {
        nvml_ = std::make_unique<Nvml>();
      } catch (const Error& error) {
        nvml_problem_ = error.what();
      }
    }
    return nvml_.get();
  }

  Versions versions_;
  std::string problem_;             // why no GPU can be used; empty if GPUs can be used
  std::vector<std::unique_ptr<Gpu>> gpus_;
  mutable std::unique_ptr<Nvml> nvml_;
  mutable std::string nvml_problem_;
  std::mutex mutex_;
  std::map<IdleKey, std::unique_ptr<Communicators>> idle_;
};

}  // namespace
}  // namespace mgcompare::cuda

// cuBLASLt alone takes 0.2 s to load.
MGCOMPARE_DEVICES_NEED("libcuda.so.1", "no NVIDIA driver is installed");

extern "C" __attribute__((visibility("default"))) mgcompare::Platform* mgcompare_platform() {
  // Never destroyed: the driver may already be unloaded when static destructors run.
  static auto* platform = new mgcompare::cuda::CudaPlatform();
  return platform;
}
