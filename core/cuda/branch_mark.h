#pragma once

// A point of a device's branch for which the compute stream can wait without waiting for what the branch does later: the weights
// of a layer, which are converted there while earlier layers compute.

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

  // Behind what is queued on the branch.
  void set() { device_.mark_branch(event_); }
  // Lets the compute stream wait for the point that was set last.
  void join() const { device_.join_branch(event_); }

 private:
  CudaDevice& device_;
  cudaEvent_t event_ = nullptr;
};

}  // namespace mgcompare::cuda
