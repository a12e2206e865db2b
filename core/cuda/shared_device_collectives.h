#pragma once

// Collectives for ranks that share devices, which NCCL does not support. Host threads wait at barriers, streams wait for
// events of other ranks, and kernels sum the vectors of a device's ranks in rank order. An all-reduce between devices uses
// NCCL with one leader rank per device. The other collectives, and two-byte types, access the ranks' memory directly.

#include <functional>
#include <memory>
#include <vector>

#include "base/abortable_barrier.h"
#include "cuda/collectives.h"
#include "platform/equal_arguments.h"

namespace mgcompare::cuda {

class SharedDeviceCollectives : public PeerCollectives {
 public:
  // The leader of a device is its first rank. `connect` makes the leaders' collectives; it is called if there are several
  // devices. Throws Error for more than kMaxSources ranks.
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
  // With one rank the host never waits.
  bool recordable() const override { return ranks_here() == 1; }

 private:
  // Arguments of a rank that the others may read between the first two barriers of a collective.
  struct Slot {
    CollectiveCall call;
    void* data = nullptr;
    const Counts* counts = nullptr;
    Counts copy;  // *counts: a rank that throws may free its own while others compare them
    std::size_t size = 0;
    cudaEvent_t published = nullptr, done = nullptr;
  };
  // Publishes this rank's arguments, waits for all ranks, queues `work`, and lets the rank's stream wait for all ranks' work.
  // Returns seconds waited.
  template <class Work>
  double run_collective(int rank, const CollectiveCall& call, const void* data, const Counts* counts, std::size_t size, Work work);
  double wait();
  // Throws Error unless kernels of all devices can access each other's memory.
  void require_peer_access() const;
  bool leads(int rank) const { return leader_of_[static_cast<std::size_t>(rank)] == static_cast<std::size_t>(rank); }

  std::vector<Slot> slots_;
  std::vector<std::size_t> leader_of_;          // of each rank: the first rank on its device
  std::vector<int> device_number_;              // of each rank: its leader's rank in leaders_
  std::unique_ptr<NcclCollectives> leaders_;    // null with one device
  AbortableBarrier barrier_;
};

}  // namespace mgcompare::cuda
