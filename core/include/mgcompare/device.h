#pragma once

// One device, as one rank sees it.
//
// Thread: the rank's own, for every call. Nothing here is collective.
// Order: "stream-ordered" calls queue work and may return before it has run; a device runs work in the order in which it
// was queued. A CPU device runs the work before the call returns. Only synchronize() waits.
// Errors: a call throws Error where the device refuses it. Errors of queued work are thrown by a later call, at the latest
// by synchronize(). Sizes and pointers are not checked.

#include <cstddef>

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
  // The native queue, for kernels of one's own: a cudaStream_t; null on a CPU.
  virtual void* stream() const = 0;

  // Device memory, aligned to 64 bytes and zeroed. Throws OutOfMemory. Allocate in Strategy::start, not in a step: an
  // allocation can wait for all work of the device, and so for another rank.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  // Host memory (page-locked for a GPU), zeroed. Host code on any thread may use it. Throws OutOfMemory.
  virtual void* allocate_host(std::size_t bytes) = 0;
  virtual void release_host(void* memory) noexcept = 0;

  // Stream-ordered; `bytes` may be 0. Host memory must stay valid and unchanged until synchronize().
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void copy_to_host(void* host, const void* device, std::size_t bytes) = 0;
  virtual void copy_to_device(void* device, const void* host, std::size_t bytes) = 0;
  virtual void zero(void* memory, std::size_t bytes) = 0;
  virtual void matmul(const Matmul& problem) = 0;

  // Returns when all queued work has run. Not in a step that is captured (see Traits::repeats_every).
  virtual void synchronize() = 0;
};

// Owns elements in device memory (or in host memory, see host_array), zeroed at first. Make and destroy it on the thread
// of the device's rank; the device must outlive it.
template <class T> class Array {
 public:
  Array() = default;
  Array(Device& device, std::size_t size, bool on_host = false);  // throws OutOfMemory
  Array(Array&& other) noexcept;
  Array& operator=(Array&& other) noexcept;
  ~Array();
  Span<T> span() const { return {data_, size_}; }
  operator Span<T>() const { return span(); }
  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) const { return data_[i]; }  // as Span's: host memory and CPU devices only

 private:
  void swap(Array& other) noexcept;
  Device* device_ = nullptr;
  bool on_host_ = false;
  std::size_t size_ = 0;
  T* data_ = nullptr;
};

template <class T> Array<T> device_array(Device& device, std::size_t size);
template <class T> Array<T> host_array(Device& device, std::size_t size);

// The copies above, of all elements of the second span. The first must be at least as long.
template <class T> void copy(Device& device, Span<T> to, Span<const std::type_identity_t<T>> from);
template <class T> void copy_to_host(Device& device, Span<T> host, Span<const std::type_identity_t<T>> from);
template <class T> void copy_to_device(Device& device, Span<T> to, Span<const std::type_identity_t<T>> host);

}  // namespace mgcompare

#include "mgcompare/detail/device.h"
