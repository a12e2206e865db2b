#pragma once

// A GPU as used by one rank: a compute stream, a stream for exchanges that overlap it, a stream for a parallel branch of a
// pass, a stream for the next samples, and library handles. Handles are cached and reused by later trials.

#include <memory>
#include <mutex>
#include <vector>

#include "cuda/blas.h"
#include "cuda/caching_allocator.h"
#include "cuda/captured_step.h"
#include "cuda/device_tally.h"
#include "cuda/status.h"
#include "mgcompare/device.h"
#include "mgcompare/error.h"
#include "platform/device_timeline.h"

namespace mgcompare::cuda {

// Streams, events and library handles, which are expensive to create. Their device must be current when they are used.
struct Handles {
  cudaStream_t stream = nullptr, exchange = nullptr, branch = nullptr, input = nullptr;
  cudaEvent_t fork = nullptr, join = nullptr, exchanged = nullptr, input_begun = nullptr, input_done = nullptr;
  cudnnHandle_t cudnn = nullptr, branch_cudnn = nullptr;
  std::unique_ptr<Blas> blas, branch_blas;  // one per stream, each with its workspace
  void *workspace = nullptr, *branch_workspace = nullptr;  // for cuDNN; kWorkspaceBytes each

  // Waits for all queued work. Returns false on error.
  bool finish() const noexcept;
};

// A GPU of this process.
struct Gpu {
  int index = 0;
  CachingAllocator memory;
  CachingAllocator window_memory{allocate_window};
  std::mutex mutex;
  std::vector<std::unique_ptr<Handles>> idle;
  // Measured by the first CudaTimeline on this GPU.
  std::once_flag mark_cost_measured;
  double seconds_a_mark = 0;

  std::unique_ptr<Handles> take_handles();
};

// The value of an attribute of a device. Throws Error.
int device_attribute(int index, cudaDeviceAttr attribute);

// Calls f(). If it throws OutOfMemory, frees the idle memory of these GPUs and calls f() again.
template <class F> auto retry_without_idle_memory(const std::vector<Gpu*>& gpus, F f) {
  try {
    return f();
  } catch (const OutOfMemory&) {
    for (Gpu* const gpu : gpus) gpu->memory.free_idle();
  }
  return f();
}

inline constexpr std::size_t kWorkspaceBytes = 256u << 20;

class CudaDevice : public Device {
 public:
  explicit CudaDevice(Gpu& gpu);
  ~CudaDevice() override;
  DeviceKind kind() const override { return DeviceKind::cuda; }
  int index() const override { return gpu_.index; }
  Gpu& gpu() const { return gpu_; }
  int attribute(cudaDeviceAttr attribute) const { return device_attribute(gpu_.index, attribute); }
  void* stream() const override { return joined_stream(); }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void* allocate_host(std::size_t bytes) override;
  void release_host(void* memory) noexcept override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void copy_to_host(void* host, const void* device, std::size_t bytes) override;
  void copy_to_device(void* device, const void* host, std::size_t bytes) override;
  void zero(void* memory, std::size_t bytes) override;
  void matmul(const Matmul& problem) override;
  void synchronize() override;

  cudaStream_t compute_stream() const { return handles_->stream; }
  Handles& handles() const { return *handles_; }

  // The stream for a collective. If overlap is allowed, a separate stream that waits for the work queued so far; otherwise
  // the compute stream. Overlap is allowed while a backward pass calls `ready`.
  cudaStream_t exchange_stream();
  void allow_overlap(bool allow) { overlap_ = allow; }
  // Lets the compute stream wait for overlapping exchanges.
  void join_exchanges();
  // Records the phases of queued work; null: they are not recorded.
  void set_timeline(DeviceTimeline* timeline) { timeline_ = timeline; }
  DeviceTimeline* timeline() const { return timeline_; }
  bool overlaps() const { return overlap_; }

  // Starts a branch: a stream that runs in parallel with the compute stream, after the work queued so far. join_branch() lets
  // the compute stream wait for it. All calls of Device do so too, and so do exchanges.
  cudaStream_t fork_branch();
  void join_branch() const;
  // For BranchMark. Records an event on the branch; records the last one again, and returns false if there is none; lets the
  // compute stream wait for what was queued there before one.
  void mark_branch(cudaEvent_t mark);
  bool move_mark();
  void join_branch(cudaEvent_t mark) const;

  // Starts to fetch the next samples: a stream that runs in parallel with the compute stream, after the work queued so far.
  // join_input() lets the compute stream wait for it. Calls of Device do not.
  cudaStream_t fork_input();
  void join_input();
  bool fetching() const { return fetching_; }

  // Where kernels read position, rate and epoch while a step is captured; its state is null otherwise.
  const CapturedStep& captured_step() const { return captured_step_; }
  void set_captured_step(const CapturedStep& captured_step) { captured_step_ = captured_step; }

  // The WindowMemory created last, such as the gradient of the current network; empty without one.
  Vec window_vector() const { return window_vector_; }

  // Where the flat vectors of the network that was built last are in their allocations, in floats: the same on all ranks. Empty before.
  Range vectors() const { return vectors_; }
  void set_vectors(Range vectors) { vectors_ = vectors; }

  // Where the rank's network accumulates its loss; in device memory.
  const DeviceTally* tally() const { return tally_; }
  void set_tally(const DeviceTally* tally) { tally_ = tally; }

 private:
  friend class WindowMemory;
  cudaStream_t joined_stream() const {
    join_branch();
    return compute_stream();
  }

  Gpu& gpu_;
  std::unique_ptr<Handles> handles_;
  CapturedStep captured_step_;
  Vec window_vector_;
  Range vectors_;
  const DeviceTally* tally_ = nullptr;
  DeviceTimeline* timeline_ = nullptr;
  bool overlap_ = false, exchanging_ = false, fetching_ = false;
  mutable bool branching_ = false;
  mutable cudaEvent_t last_mark_ = nullptr;  // that was not joined; null: none
  bool marked_ = false;             // nothing was queued on the branch behind it
};

// Zero-initialised device memory that can be registered as an NCCL window.
class WindowMemory {
 public:
  WindowMemory(CudaDevice& device, std::size_t floats);
  ~WindowMemory();
  WindowMemory(const WindowMemory&) = delete;
  WindowMemory& operator=(const WindowMemory&) = delete;
  Vec span() const { return memory_; }

 private:
  CudaDevice& device_;
  Vec memory_;
};

// Restores the current device of the calling thread at the end of a scope.
class DeviceGuard {
 public:
  // Leaves the current device as it is. Throws Error.
  DeviceGuard();
  // Makes a device current. Throws Error.
  explicit DeviceGuard(int index);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int previous_ = 0;
};

}  // namespace mgcompare::cuda
