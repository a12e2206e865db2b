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

class DeviceMemory {
 public:
  // Memory of the current device. Throws OutOfMemory.
  void* take(std::size_t bytes);
  // The caller has waited for all work that uses it.
  void give(void* memory) noexcept;
  std::uint64_t peak() const;
  void reset_peak();

 private:
  void* allocate(std::size_t bytes);

  mutable std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::map<std::size_t, std::vector<void*>> kept_;  // by size, rounded
  std::uint64_t held_ = 0, peak_ = 0;
};

}  // namespace mgcompare::cuda
