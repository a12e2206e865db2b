#pragma once

#include <cstdlib>
#include <cstring>

#include "mgcompare/device.h"

namespace mgcompare::testing {

// A minimal CPU device.
class HeapDevice : public Device {
 public:
  explicit HeapDevice(DeviceKind kind = DeviceKind::cpu) : kind_(kind) {}
  DeviceKind kind() const override { return kind_; }
  int index() const override { return 0; }
  void* stream() const override { return nullptr; }
  void* allocate(std::size_t bytes) override { return std::calloc(bytes == 0 ? 1 : bytes, 1); }
  void release(void* memory) noexcept override { std::free(memory); }
  void* allocate_host(std::size_t bytes) override { return allocate(bytes); }
  void release_host(void* memory) noexcept override { release(memory); }
  void copy(void* to, const void* from, std::size_t bytes) override { std::memmove(to, from, bytes); }
  void copy_to_host(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void copy_to_device(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void zero(void* memory, std::size_t bytes) override { std::memset(memory, 0, bytes); }
  void matmul(const Matmul&) override {}
  void synchronize() override {}

 private:
  DeviceKind kind_;
};

}  // namespace mgcompare::testing
