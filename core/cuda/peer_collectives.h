#pragma once

// Base of both kinds of collectives: the devices of the ranks of this host, and one-sided access to their memory.

#include <vector>

#include "cuda/device.h"
#include "platform/platform.h"

namespace mgcompare::cuda {

class PeerCollectives : public Collectives {
 public:
  // Enables peer access between all devices, where the hardware supports it.
  // `first_rank`: that of devices[0].
  explicit PeerCollectives(const std::vector<CudaDevice*>& devices, std::size_t first_rank = 0);
  void get(int rank, int peer, const float* from, Vec into) override;
  void put(int rank, int peer, float* to, ConstVec from) override;
  void add(int rank, int peer, float* to, ConstVec from) override;
  void load(int rank, const float* from, Vec into) override;
  void store(int rank, float* to, ConstVec from) override;
  void accumulate(int rank, float* to, ConstVec from) override;

 protected:
  std::size_t ranks_here() const { return devices_.size(); }
  std::size_t local(int rank) const { return static_cast<std::size_t>(rank) - first_rank_; }
  CudaDevice& device(int rank) const { return *devices_[local(rank)]; }
  cudaStream_t stream(int rank) const { return device(rank).exchange_stream(); }
  // Whether kernels on any device can access the memory of any other device.
  bool all_reach_all() const { return all_reach_all_; }

 private:
  void copy(int rank, void* to, int to_device, const void* from, int from_device, std::size_t bytes) const;

  std::vector<CudaDevice*> devices_;
  std::size_t first_rank_;
  bool all_reach_all_ = true;
};

}  // namespace mgcompare::cuda
