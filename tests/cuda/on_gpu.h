#pragma once

// Base of the tests that need GPUs. They are skipped on machines without any.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "cuda/device.h"

namespace mgcompare::testing {

inline int gpu_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
  return 0;
}

inline cuda::Gpu& gpu(int index) {
  static std::vector<std::unique_ptr<cuda::Gpu>> gpus;
  while (static_cast<int>(gpus.size()) <= index) {
    gpus.push_back(std::make_unique<cuda::Gpu>());
    gpus.back()->index = static_cast<int>(gpus.size()) - 1;
  }
  return *gpus[static_cast<std::size_t>(index)];
}

class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "this machine has no NVIDIA GPU that this program can use";
  }
};

template <class T> std::vector<T> to_host(Device& device, Span<T> from) {
  std::vector<T> host(from.size());
  device.copy_to_host(host.data(), from.data(), from.bytes());
  device.synchronize();
  return host;
}

template <class T> Array<T> to_device(Device& device, const std::vector<T>& from) {
  Array<T> array(device, from.size());
  device.copy_to_device(array.data(), from.data(), from.size() * sizeof(T));
  device.synchronize();
  return array;
}

}  // namespace mgcompare::testing
