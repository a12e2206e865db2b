#pragma once

// Collectives for ranks of which some share a device, which NCCL refuses. Hosts meet and sleep; devices wait for each
// other's events; kernels add the vectors of one device's ranks in rank order. Between devices an all-reduce goes through
// NCCL, one leader a device; the other collectives, and two-byte elements, read the ranks' memory directly.

#include <functional>
#include <memory>
#include <vector>

#include "cuda/collectives.h"
#include "base/abortable_barrier.h"

namespace mgcompare::cuda {

class SharedDeviceCollectives : public PeerCollectives {
 public:
  // The leader of a device is its first rank; `connect` gives the leaders' collectives and is called where there are
  // several devices. Throws Error for more ranks than a kernel can add.
  using Connect = std::function<std::unique_ptr<NcclCollectives>(const std::vector<CudaDevice*>& leaders)>;
  SharedDeviceCollectives(const std::vector<CudaDevice*>& devices, const Connect& connect);
  ~SharedDeviceCollectives() override;
  double all_reduce(int rank, void* data, std::size_t count, Type type) override;
  double reduce(int rank, void* data, std::size_t count, Type type, int root) override;
  double broadcast(int rank, void* data, std::size_t bytes, int root) override;
  double gather(int rank, const void* mine, void* all, const Counts& bytes, int root) override;
  double scatter(int rank, const void* all, void* mine, const Counts& bytes, int root) override;
  double all_gather(int rank, const void* mine, void* all, const Counts& bytes) override;
  double reduce_scatter(int rank, const void* all, void* mine, const Counts& counts, Type type) override;
  double all_to_all(int rank, const void* out, const Counts& out_bytes, void* in, const Counts& in_bytes) override;
  void abort() override;
  // A lone rank meets nobody.
  bool recordable() const override { return ranks() == 1; }

 private:
  // What a rank shows the others between the two meetings of a collective.
  struct Slot {
    void* data = nullptr;
    const Counts* counts = nullptr;
    std::size_t size = 0;
    cudaEvent_t shown = nullptr, done = nullptr;
  };
  // Shows this rank's vector, waits for the others', queues `work`, and lets its stream wait until all are done.
  template <class Work> double meet(int rank, const void* data, const Counts* counts, std::size_t size, Work work);
  double wait();
  void check_equal_sizes() const;
  // Kernels that add vectors of other devices read them there.
  void need_access() const;
  bool leads(int rank) const { return leader_of_[static_cast<std::size_t>(rank)] == static_cast<std::size_t>(rank); }

  std::vector<Slot> slots_;
  std::vector<std::size_t> leader_of_;          // of each rank: the first rank on its device
  std::vector<int> number_of_;                  // of each rank: its device among the devices
  std::unique_ptr<NcclCollectives> between_;    // the leaders; null with one device
  AbortableBarrier barrier_;
};

}  // namespace mgcompare::cuda
