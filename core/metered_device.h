#pragma once

// The device that a strategy sees: the rank's own, with its copies over the host link counted.

#include <chrono>

#include "mgcompare/device.h"

namespace mgcompare {

class MeteredDevice : public Device {
 public:
  explicit MeteredDevice(Device& device) : device_(device) {}
  DeviceKind kind() const override { return device_.kind(); }
  int index() const override { return device_.index(); }
  void* stream() const override { return device_.stream(); }
  void* allocate(std::size_t bytes) override { return device_.allocate(bytes); }
  void release(void* memory) noexcept override { device_.release(memory); }
  void* allocate_host(std::size_t bytes) override { return device_.allocate_host(bytes); }
  void release_host(void* memory) noexcept override { device_.release_host(memory); }
  void copy(void* to, const void* from, std::size_t bytes) override { device_.copy(to, from, bytes); }
  void zero(void* memory, std::size_t bytes) override { device_.zero(memory, bytes); }
  void matmul(const Matmul& problem) override { device_.matmul(problem); }
  void synchronize() override { device_.synchronize(); }
  void copy_to_host(void* host, const void* device, std::size_t bytes) override {
    const auto start = std::chrono::steady_clock::now();
    device_.copy_to_host(host, device, bytes);
    count(bytes, start);
  }
  void copy_to_device(void* device, const void* host, std::size_t bytes) override {
    const auto start = std::chrono::steady_clock::now();
    device_.copy_to_device(device, host, bytes);
    count(bytes, start);
  }

  std::uint64_t bytes() const { return bytes_; }
  double seconds() const { return seconds_; }
  void forget() { bytes_ = 0, seconds_ = 0; }

 private:
  void count(std::size_t bytes, std::chrono::steady_clock::time_point start) {
    bytes_ += bytes;
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  Device& device_;
  std::uint64_t bytes_ = 0;
  double seconds_ = 0;
};

}  // namespace mgcompare
