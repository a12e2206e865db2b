#pragma once

// A point of a device's branch for which the compute stream can wait without waiting for what the branch does later: there, the weights of
// a layer are converted, or the mask of its dropout is drawn, while earlier layers compute.

#include <utility>

#include "cuda/device.h"

namespace mgcompare::cuda {

class BranchMark {
 public:
  explicit BranchMark(CudaDevice& device) : device_(device) {
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "creating an event");
  }
  ~BranchMark() { cudaEventDestroy(event_); }
  BranchMark(const BranchMark&) = delete;
  BranchMark& operator=(const BranchMark&) = delete;

  // Behind what is queued on the branch, which reads or writes so many bytes since the mark before. Where that is little, the mark before moves
  // instead: a further wait takes about half a microsecond.
  void set(std::size_t bytes) {
    set_ = bytes >= kWorthWaiting || !device_.move_mark();
    if (set_) device_.mark_branch(event_);
  }
  // Lets the compute stream wait for the point that was set since the last join, if one was. A mark that was set in prepare() is joined in
  // forward(), because it may stand for what later layers queued.
  void join() {
    if (std::exchange(set_, false)) device_.join_branch(event_);
  }

 private:
  static constexpr std::size_t kWorthWaiting = 4u << 20;

  CudaDevice& device_;
  cudaEvent_t event_ = nullptr;
  bool set_ = false;
};

}  // namespace mgcompare::cuda
