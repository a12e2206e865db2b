#pragma once

// Caching allocator of one GPU, shared by the ranks that use it. Released blocks are kept and reused for allocations of the
// same size. After the first trial of a shape nothing is allocated from the driver. This also avoids deadlocks: cudaMalloc
// may wait for an NCCL kernel that waits for this rank.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace mgcompare::cuda {

// Memory of the current device from the driver. Throws OutOfMemory.
void* allocate_device(std::size_t bytes);
// The same from NCCL: the memory can be registered as an NCCL window, which other devices access directly.
void* allocate_window(std::size_t bytes);

class CachingAllocator {
 public:
  using Source = void* (*)(std::size_t bytes);
  explicit CachingAllocator(Source source = allocate_device) : source_(source) {}
  // Memory of the current device. Throws OutOfMemory.
  void* allocate(std::size_t bytes);
  // The caller must have waited for all work that uses the memory.
  void release(void* memory) noexcept;
  // Frees idle blocks. Must not be called for memory that is registered as a window.
  void free_idle();
  std::uint64_t peak() const;
  void reset_peak();

 private:
  const Source source_;
  mutable std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::map<std::size_t, std::vector<void*>> idle_;  // by rounded size
  std::uint64_t held_ = 0, peak_ = 0;
};

}  // namespace mgcompare::cuda
