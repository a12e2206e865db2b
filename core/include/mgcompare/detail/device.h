#pragma once

// Included by device.h.

#include <utility>

namespace mgcompare {

template <class T>
Array<T>::Array(Device& device, std::size_t size, bool on_host)
    : device_(&device), on_host_(on_host), size_(size),
      data_(static_cast<T*>(on_host ? device.allocate_host(size * sizeof(T)) : device.allocate(size * sizeof(T)))) {}

template <class T> Array<T>::Array(Array&& other) noexcept { swap(other); }

template <class T> Array<T>& Array<T>::operator=(Array&& other) noexcept {
  Array taken(std::move(other));
  swap(taken);
  return *this;
}

template <class T> Array<T>::~Array() {
  if (data_ != nullptr && on_host_) device_->release_host(data_);
  if (data_ != nullptr && !on_host_) device_->release(data_);
}

template <class T> void Array<T>::swap(Array& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(on_host_, other.on_host_);
  std::swap(size_, other.size_);
  std::swap(data_, other.data_);
}

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
