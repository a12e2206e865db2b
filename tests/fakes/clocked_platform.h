#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cpu/collectives.h"
#include "fakes/host_marker.h"
#include "measure/metered_device.h"
#include "modules/platform_host.h"

namespace mgcompare {

// A CPU device that reports itself as a GPU.
class ClockedDevice : public MeteredDevice {
 public:
  explicit ClockedDevice(std::unique_ptr<Device> device) : MeteredDevice(*device), device_(std::move(device)) {}
  DeviceKind kind() const override { return DeviceKind::cuda; }

 private:
  std::unique_ptr<Device> device_;
};

class Recordable : public CpuCollectives {
 public:
  using CpuCollectives::CpuCollectives;
  bool recordable() const override { return true; }
};

// A platform of such devices, with the timeline and graph recorder that a test supplies.
class ClockedPlatform : public Platform {
 public:
  std::function<std::unique_ptr<DeviceTimeline>()> make_marker = [] { return std::make_unique<HostTimeline>(); };
  std::function<std::unique_ptr<GraphRecorder>()> make_recorder = [] { return nullptr; };  // for whole steps
  std::function<std::unique_ptr<GraphRecorder>()> make_pass_recorder = [] { return nullptr; };

  DeviceKind kind() const override { return DeviceKind::cuda; }
  std::vector<DeviceInfo> devices() const override { return cpu_.devices(); }
  std::vector<std::pair<std::string, std::string>> facts() const override { return {}; }
  std::unique_ptr<Device> open(int index) override { return std::make_unique<ClockedDevice>(cpu_.open(index)); }
  std::uint64_t peak_memory(int index) const override { return cpu_.peak_memory(index); }
  void reset_peak_memory() override { cpu_.reset_peak_memory(); }
  std::unique_ptr<Network> build(Device& device, const NetworkSpec& spec, const Numerics& numerics) override {
    return cpu_.build(device, spec, numerics);
  }
  std::unique_ptr<Optimizer> optimizer(Device& device, const OptimizerConfig& config, const std::vector<Part>& parts) override {
    return cpu_.optimizer(device, config, parts);
  }
  std::unique_ptr<Feed> upload(Device& device, const SampleSpec& spec, const Split& split, const Preparation& preparation,
                               bool on_host) override {
    return cpu_.upload(device, spec, split, preparation, on_host);
  }
  std::unique_ptr<Collectives> connect(const std::vector<Device*>& devices) override {
    return std::make_unique<Recordable>(devices.size());
  }
  std::unique_ptr<DeviceTimeline> timeline(Device&) override { return make_marker(); }
  std::unique_ptr<GraphRecorder> recorder(Device&, std::size_t steps) override {
    return steps == 0 ? make_pass_recorder() : make_recorder();
  }

 private:
  Platform& cpu_ = platform(DeviceKind::cpu);
};

}  // namespace mgcompare
