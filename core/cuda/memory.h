#pragma once

// The memory of one GPU, shared by the ranks that use it. What ranks release is kept for the next ones of the same size:
// after the first trial of a shape nothing is allocated, which also keeps cudaMalloc away from the collectives of other
// ranks (an allocation that meets a spinning NCCL kernel of a peer can hang both).

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace mgcompare::cuda {

// Memory of the current device from the driver. Throws OutOfMemory.
void* allocate_device(std::size_t bytes);
// The same from NCCL, which can open it as a window: other devices then read it where it is.
void* allocate_window(std::size_t bytes);

class DeviceMemory {
 public:
  using Source = void* (*)(std::size_t bytes);
  explicit DeviceMemory(Source source = allocate_device) : source_(source) {}
  // Memory of the current device. Throws OutOfMemory.
  void* take(std::size_t bytes);
  // The caller has waited for all work that uses it.
  void give(void* memory) noexcept;
  // Gives what is idle back to the driver. Not for memory on which windows are open.
  void give_back_idle();
  std::uint64_t peak() const;
  void reset_peak();

 private:
  const Source source_;
  mutable std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::map<std::size_t, std::vector<void*>> kept_;  // by size, rounded
  std::uint64_t held_ = 0, peak_ = 0;
};

}  // namespace mgcompare::cuda
