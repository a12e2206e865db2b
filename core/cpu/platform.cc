// The CPU platform module. Its devices are the physical cores in this process's CPU set, used by one thread each.

#include "platform/platform.h"

#include <dnnl.h>
#include <fmt/format.h>
#include <hwloc.h>
#include <omp.h>
#include <sys/sysinfo.h>

#include <cerrno>
#include <memory>

#include "base/error_text.h"
#include "cpu/collectives.h"
#include "cpu/feed.h"
#include "cpu/host_collectives.h"
#include "cpu/network.h"
#include "cpu/device.h"
#include "model/optimizer.h"

namespace mgcompare {
namespace {

class CpuPlatform : public Platform {
 public:
  CpuPlatform() {
    hwloc_topology_init(&topology_);
    // Respect taskset and cgroups: cores outside of the CPU set are not devices.
    hwloc_topology_set_flags(topology_, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM | HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING);
    if (hwloc_topology_load(topology_) != 0)
      throw Error("the cores of this machine cannot be listed: " + error_text(errno));
    const int cores = hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_CORE);
    meters_ = std::vector<MemoryMeter>(static_cast<std::size_t>(cores < 1 ? 1 : cores));
    // oneDNN fixes these settings when they are first read: no plugin can then change them for the rows that follow its own.
    dnnl_get_effective_cpu_isa();
    dnnl_get_cpu_isa_hints();
  }
  ~CpuPlatform() override { hwloc_topology_destroy(topology_); }

  DeviceKind kind() const override { return DeviceKind::cpu; }

  std::vector<DeviceInfo> devices() const override {
    const hwloc_obj_t package = hwloc_get_obj_by_type(topology_, HWLOC_OBJ_PACKAGE, 0);
    const char* model = package == nullptr ? nullptr : hwloc_obj_get_info_by_name(package, "CPUModel");
    struct sysinfo memory {};
    sysinfo(&memory);
    std::vector<DeviceInfo> found;
    for (std::size_t core = 0; core < meters_.size(); ++core)
      found.push_back({static_cast<int>(core), std::string(model == nullptr ? "CPU" : model) + ", one core",
                       static_cast<std::uint64_t>(memory.totalram) * memory.mem_unit, {}, "core " + std::to_string(core), {}});
    return found;
  }

  std::vector<std::pair<std::string, std::string>> facts() const override {
    const dnnl_version_t* version = dnnl_version();
    return {{"oneDNN", std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
                           std::to_string(version->patch)}};
  }

  std::unique_ptr<Device> open(int device_index) override {
    // Without pinning threads would migrate; with OpenMP teams the ranks would oversubscribe the cores.
    omp_set_num_threads(1);
    if (static_cast<std::size_t>(device_index) >= meters_.size())
      throw Error(fmt::format("this process may now use only {} cores, and the trial needs core {}: something changed its processors after the run began; leave "
                              "them as they are, or begin a new run with fewer devices", meters_.size(), device_index));
    const hwloc_obj_t core = hwloc_get_obj_by_type(topology_, HWLOC_OBJ_CORE, static_cast<unsigned>(device_index));
    if (core != nullptr) hwloc_set_cpubind(topology_, core->cpuset, HWLOC_CPUBIND_THREAD);
    return std::make_unique<CpuDevice>(device_index, meters_.at(static_cast<std::size_t>(device_index)));
  }

  std::uint64_t peak_memory(int device_index) const override {
    return meters_.at(static_cast<std::size_t>(device_index)).peak();
  }
  void reset_peak_memory() override {
    for (MemoryMeter& meter : meters_) meter.reset();
  }

  std::unique_ptr<Network> build(Device& device, const NetworkSpec& spec, const Numerics& numerics) override {
    return make_network(device, spec, numerics);
  }
  std::unique_ptr<Optimizer> optimizer(Device& device, const OptimizerConfig& config,
                                       const std::vector<Part>& parts) override {
    return make_host_optimizer(config, parts, &device);
  }
  std::unique_ptr<Feed> upload(Device& device, const SampleSpec& spec, const Split& split, const Preparation& preparation,
                               bool) override {
    return make_feed(device, spec, split, preparation);
  }
  std::unique_ptr<Collectives> connect(const std::vector<Device*>& device_of_rank) override {
    return std::make_unique<CpuCollectives>(device_of_rank.size());
  }
  std::unique_ptr<Collectives> connect_hosts(const std::vector<Device*>& device_of_rank, const HostSpan& hosts, bool in_rank_order) override {
    return std::make_unique<HostCollectives>(device_of_rank.size(), hosts, in_rank_order);
  }

 private:
  hwloc_topology_t topology_ = nullptr;
  std::vector<MemoryMeter> meters_;
};

}  // namespace
}  // namespace mgcompare

extern "C" __attribute__((visibility("default"))) mgcompare::Platform* mgcompare_platform() {
  static mgcompare::CpuPlatform platform;
  return &platform;
}
