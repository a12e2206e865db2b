#pragma once

// The device that a strategy sees. Forwards to the rank's device; counts copies over the host link and the memory that the
// strategy holds on the device and on the host.

#include <cstdint>
#include <unordered_map>

#include "measure/ledger.h"
#include "mgcompare/device.h"
#include "measure/step_clock.h"

namespace mgcompare {

class MeteredDevice : public Device {
 public:
  explicit MeteredDevice(Device& device) : device_(device) {}
  Device& unmetered() { return device_; }
  DeviceKind kind() const override {
    ++calls_;  // the first thing that arithmetic asks
    return device_.kind();
  }
  int index() const override { return device_.index(); }
  void* stream() const override {
    ++calls_;
    StepClock::before_strategy_work();
    return device_.stream();
  }
  void* allocate(std::size_t bytes) override { return hold(device_.allocate(bytes), bytes, false); }
  void release(void* memory) noexcept override {
    blocks_.erase(memory);
    device_.release(memory);
  }
  void* allocate_host(std::size_t bytes) override { return hold(device_.allocate_host(bytes), bytes, true); }
  void release_host(void* memory) noexcept override {
    blocks_.erase(memory);
    device_.release_host(memory);
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    ++calls_;
    StepClock::before_strategy_work();
    device_.copy(to, from, bytes);
  }
  void zero(void* memory, std::size_t bytes) override {
    StepClock::before_strategy_work();
    device_.zero(memory, bytes);
  }
  void matmul(const Matmul& problem) override {
    ++calls_;
    StepClock::before_strategy_work();
    device_.matmul(problem);
  }
  void synchronize() override { device_.synchronize(); }
  void copy_to_host(void* host, const void* device, std::size_t bytes) override {
    ++calls_;
    const StepClock::PhaseScope in(Phase::transfer, "copy to host");
    device_.copy_to_host(host, device, bytes);
    count("copy to host", bytes);
  }
  void copy_to_device(void* device, const void* host, std::size_t bytes) override {
    const StepClock::PhaseScope in(Phase::transfer, "copy to device");
    device_.copy_to_device(device, host, bytes);
    count("copy to device", bytes);
  }

  // Copied over the host link since the last reset_bytes().
  std::uint64_t bytes() const { return bytes_; }
  void reset_bytes() { bytes_ = 0; }
  Ledger& ledger() { return ledger_; }
  // That may have read device memory, or asked for what own kernels need.
  std::uint64_t calls() const { return calls_; }
  // Bytes that are allocated at present, on the host or on the device.
  std::uint64_t held(bool on_host) const {
    std::uint64_t bytes = 0;
    for (const auto& [memory, block] : blocks_) bytes += block.on_host == on_host ? block.bytes : 0;
    return bytes;
  }

 private:
  struct Block {
    std::size_t bytes;
    bool on_host;
  };
  void* hold(void* memory, std::size_t bytes, bool on_host) {
    blocks_[memory] = {bytes, on_host};
    return memory;
  }
  void count(const char* call, std::size_t bytes) {
    ledger_.add(call, static_cast<double>(bytes));
    bytes_ += bytes;
  }

  Device& device_;
  Ledger ledger_;
  std::unordered_map<void*, Block> blocks_;
  std::uint64_t bytes_ = 0;
  mutable std::uint64_t calls_ = 0;
};

}  // namespace mgcompare
