#include "cuda/caching_allocator.h"

#include <algorithm>

#include "mgcompare/error.h"
#include "cuda/status.h"

namespace mgcompare::cuda {
namespace {

constexpr std::size_t kGrain = 512;

[[noreturn]] void fail_for_memory(std::size_t asked) {
  cudaGetLastError();
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  throw OutOfMemory(asked, free, total);
}

}  // namespace

void* allocate_device(std::size_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) fail_for_memory(bytes);
  check(status, "allocating device memory");
  return memory;
}

void* allocate_window(std::size_t bytes) {
  void* memory = nullptr;
  constexpr char kWhat[] = "allocating device memory for windows";
  const ncclResult_t status = ncclMemAlloc(&memory, bytes);
  if (ran_out_of_memory(status, bytes, kWhat)) fail_for_memory(bytes);
  check(status, kWhat);
  return memory;
}

void* CachingAllocator::allocate(std::size_t bytes) {
  // The minimum prevents overflow of the rounding.
  const std::size_t rounded = std::max<std::size_t>(1, (std::min(bytes, SIZE_MAX - kGrain) + kGrain - 1) / kGrain) * kGrain;
  const std::lock_guard lock(mutex_);
  std::vector<void*>& blocks = idle_[rounded];
  void* memory = nullptr;
  if (blocks.empty()) {
    memory = source_(rounded);
    sizes_[memory] = rounded;
  } else {
    memory = blocks.back();
    blocks.pop_back();
  }
  held_ += rounded;
  peak_ = std::max(peak_, held_);
  return memory;
}

void CachingAllocator::release(void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  const std::size_t size = sizes_.at(memory);
  held_ -= size;
  idle_[size].push_back(memory);
}

void CachingAllocator::free_idle() {
  const std::lock_guard lock(mutex_);
  for (auto& [size, blocks] : idle_) {
    for (void* block : blocks) {
      sizes_.erase(block);
      cudaFree(block);
    }
    blocks.clear();
  }
}

std::uint64_t CachingAllocator::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

void CachingAllocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  peak_ = held_;
}

}  // namespace mgcompare::cuda
