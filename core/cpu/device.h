#pragma once

// A CPU device is one physical core. Work runs on the calling thread before the call returns.

#include <atomic>
#include <cstdint>

#include "mgcompare/device.h"

namespace mgcompare {

// Current and peak memory of all ranks on one device. Thread-safe.
class MemoryMeter {
 public:
  void add(std::uint64_t bytes);
  void remove(std::uint64_t bytes) { held_ -= bytes; }
  void reset() { peak_ = held_.load(); }
  std::uint64_t peak() const { return peak_; }

 private:
  std::atomic<std::uint64_t> held_ = 0;
  std::atomic<std::uint64_t> peak_ = 0;
};

class CpuDevice : public Device {
 public:
  CpuDevice(int index, MemoryMeter& meter) : index_(index), meter_(meter) {}
  DeviceKind kind() const override { return DeviceKind::cpu; }
  int index() const override { return index_; }
  void* stream() const override { return nullptr; }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void* allocate_host(std::size_t bytes) override { return allocate(bytes); }
  void release_host(void* memory) noexcept override { release(memory); }
  void copy(void* to, const void* from, std::size_t bytes) override;
  void copy_to_host(void* host, const void* device, std::size_t bytes) override { copy(host, device, bytes); }
  void copy_to_device(void* device, const void* host, std::size_t bytes) override { copy(device, host, bytes); }
  void zero(void* memory, std::size_t bytes) override;
  void matmul(const Matmul& problem) override;
  void synchronize() override {}

 private:
  int index_;
  MemoryMeter& meter_;
};

}  // namespace mgcompare
