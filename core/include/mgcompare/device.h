#pragma once

// One device as one rank sees it. Work is queued in the order of the calls and runs in that order (a CPU device runs it
// before the call returns); only `synchronize` waits. Every method is called by the rank that owns the object, on its
// own thread.

#include <cstddef>
#include <utility>

#include "mgcompare/error.h"
#include "mgcompare/types.h"

namespace mgcompare {

// C (m, n) = alpha * op(A) (m, k) * op(B) (k, n) + beta * C; row-major float32 in device memory.
struct Matmul {
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  std::size_t m = 0, n = 0, k = 0;
  bool transpose_a = false;  // A is stored as (k, m)
  bool transpose_b = false;  // B is stored as (n, k)
  float alpha = 1, beta = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceKind kind() const = 0;
  virtual int index() const = 0;
  // The native queue: a cudaStream_t, or null on a CPU. The escape hatch for kernels of one's own.
  virtual void* stream() const = 0;

  // Device memory, 64-byte aligned and zeroed. Throws OutOfMemory. Allocate in `start`, not in `step`.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  // Host memory that copies to this device fast (page-locked for a GPU), zeroed; any thread may use it.
  virtual void* allocate_host(std::size_t bytes) = 0;
  virtual void release_host(void* memory) noexcept = 0;

  // Stream-ordered copies; `bytes` may be 0. Host memory of a copy must stay until `synchronize`.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void copy_to_host(void* host, const void* device, std::size_t bytes) = 0;
  virtual void copy_to_device(void* device, const void* host, std::size_t bytes) = 0;
  virtual void zero(void* memory, std::size_t bytes) = 0;
  virtual void matmul(const Matmul& problem) = 0;

  // Waits until everything queued so far has run; throws what the device reported.
  virtual void synchronize() = 0;
};

// Elements in device memory (or, by `host_array`, in the host's), released with the object. The device must outlive it.
template <class T> class Array {
 public:
  Array() = default;
  Array(Device& device, std::size_t size, bool on_host = false)
      : device_(&device), on_host_(on_host), size_(size),
        data_(static_cast<T*>(on_host ? device.allocate_host(size * sizeof(T)) : device.allocate(size * sizeof(T)))) {}
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    Array taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Array() {
    if (data_ != nullptr && on_host_) device_->release_host(data_);
    if (data_ != nullptr && !on_host_) device_->release(data_);
  }
  Span<T> span() const { return {data_, size_}; }
  operator Span<T>() const { return span(); }
  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) const { return data_[i]; }  // host arrays, and CPU devices

 private:
  void swap(Array& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(on_host_, other.on_host_);
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
  }
  Device* device_ = nullptr;
  bool on_host_ = false;
  std::size_t size_ = 0;
  T* data_ = nullptr;
};

template <class T> Array<T> device_array(Device& device, std::size_t size) { return Array<T>(device, size); }
template <class T> Array<T> host_array(Device& device, std::size_t size) { return Array<T>(device, size, true); }

template <class T> void copy(Device& device, Span<T> to, Span<const std::type_identity_t<T>> from) {
  device.copy(to.data(), from.data(), from.bytes());
}
template <class T> void copy_to_host(Device& device, Span<T> host, Span<const std::type_identity_t<T>> from) {
  device.copy_to_host(host.data(), from.data(), from.bytes());
}
template <class T> void copy_to_device(Device& device, Span<T> to, Span<const std::type_identity_t<T>> host) {
  device.copy_to_device(to.data(), host.data(), host.bytes());
}

}  // namespace mgcompare
