#pragma once

// Base of both kinds of collectives: the ranks' devices, and one-sided access to the memory of other ranks.

#include <vector>

#include "cuda/device.h"
#include "platform/platform.h"

namespace mgcompare::cuda {

class PeerCollectives : public Collectives {
 public:
  // Enables peer access between all devices, where the hardware supports it.
  explicit PeerCollectives(const std::vector<CudaDevice*>& devices);
  void get(int rank, int peer, const float* from, Vec into) override;
  void put(int rank, int peer, float* to, ConstVec from) override;
  void add(int rank, int peer, float* to, ConstVec from) override;

 protected:
  std::size_t ranks() const { return devices_.size(); }
  CudaDevice& device(int rank) const { return *devices_[static_cast<std::size_t>(rank)]; }
  cudaStream_t stream(int rank) const { return device(rank).exchange_stream(); }
  // Whether kernels on any device can access the memory of any other device.
  bool all_reach_all() const { return all_reach_all_; }

 private:
  void copy(int rank, void* to, int to_device, const void* from, int from_device, std::size_t bytes) const;

  std::vector<CudaDevice*> devices_;
  bool all_reach_all_ = true;
};

}  // namespace mgcompare::cuda
