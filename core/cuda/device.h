#pragma once

// A GPU as one rank has it: a stream for its work, one for exchanges that overlap it, one for a second branch of a
// pass, and the libraries' handles. Handles are kept and used again by later trials.

#include <memory>
#include <mutex>
#include <vector>

#include "cuda/blas.h"
#include "cuda/cursor.h"
#include "cuda/memory.h"
#include "platform/device_timeline.h"
#include "mgcompare/device.h"
#include "mgcompare/error.h"
#include "cuda/status.h"

namespace mgcompare::cuda {

// What is dear to make. Made and used with its device current.
struct Handles {
  cudaStream_t stream = nullptr, exchange = nullptr, branch = nullptr;
  cudaEvent_t fork = nullptr, join = nullptr, exchanged = nullptr;
  cudnnHandle_t cudnn = nullptr;
  std::unique_ptr<Blas> blas, branch_blas;  // one a stream: each has a workspace
  void* workspace = nullptr;                // of cuDNN; kWorkspaceBytes

  // Waits for all that is queued; false where that failed.
  bool finish() const noexcept;
};

// A GPU of this process.
struct Gpu {
  int index = 0;
  DeviceMemory memory;
  DeviceMemory windows{allocate_window};
  std::mutex mutex;
  std::vector<std::unique_ptr<Handles>> idle;
  // By the first timeline on it:
  std::once_flag mark_measured;
  double seconds_a_mark = 0;

  std::unique_ptr<Handles> take_handles();
};

// Calls f(), and once more where it ends for want of memory: then without what earlier trials left idle on these GPUs.
template <class F> auto with_room(const std::vector<Gpu*>& gpus, F f) {
  try {
    return f();
  } catch (const OutOfMemory&) {
    for (Gpu* const gpu : gpus) gpu->memory.give_back_idle();
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
  void* stream() const override { return settled(); }
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

  cudaStream_t queue() const { return handles_->stream; }
  Handles& handles() const { return *handles_; }

  // The stream for a collective: the rank's own, or, while a backward pass calls `ready`, one beside it that starts after
  // what is queued so far.
  cudaStream_t exchange_stream();
  void allow_overlap(bool allow) { overlap_ = allow; }
  // Lets the rank's stream wait for exchanges that overlapped.
  void join_exchanges();
  // Where what is queued is marked with its phase; null where nothing is.
  void mark_on(DeviceTimeline* timeline) { timeline_ = timeline; }
  DeviceTimeline* timeline() const { return timeline_; }
  bool overlaps() const { return overlap_; }

  // A branch of work beside the rank's stream, behind what is queued so far. It is joined by join_branch(), and before
  // anything that is not of the network: by all calls of Device, and by exchanges for themselves.
  cudaStream_t fork_branch();
  void join_branch() const;

  // Where the step's position, rate and epoch are read while a step is being recorded; empty otherwise.
  const Cursor& cursor() const { return cursor_; }
  void set_cursor(const Cursor& cursor) { cursor_ = cursor; }

  // The vector that the ranks sum most often: the gradient of the network made last; empty without one.
  Vec window() const { return window_; }

  // Where the rank's network adds up losses; device memory.
  const DeviceTally* tally() const { return tally_; }
  void set_tally(const DeviceTally* tally) { tally_ = tally; }

 private:
  friend class Window;
  cudaStream_t settled() const {
    join_branch();
    return queue();
  }

  Gpu& gpu_;
  std::unique_ptr<Handles> handles_;
  Cursor cursor_;
  Vec window_;
  const DeviceTally* tally_ = nullptr;
  DeviceTimeline* timeline_ = nullptr;
  bool overlap_ = false, exchanging_ = false;
  mutable bool branching_ = false;
};

// Memory of a device, all zero, on which NCCL can open a window.
class Window {
 public:
  Window(CudaDevice& device, std::size_t floats);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  Vec span() const { return memory_; }

 private:
  CudaDevice& device_;
  Vec memory_;
};

// Makes a device current for the calling thread, and puts the former one back.
class Current {
 public:
  explicit Current(int index);
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  int former_ = 0;
};

}  // namespace mgcompare::cuda
