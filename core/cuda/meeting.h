#pragma once

// Collectives for ranks of which some share a device, which NCCL refuses. Every rank shows the others its vector, and
// kernels read the ranks' memory directly and add in rank order: on every device the same bits. Hosts meet and sleep;
// devices wait for each other's events.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "peers.h"

namespace mgcompare::cuda {

class MeetingCollectives : public PeerCollectives {
 public:
  // Throws Error when kernels on some device cannot reach another's memory.
  explicit MeetingCollectives(const std::vector<CudaDevice*>& devices);
  ~MeetingCollectives() override;
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

  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable everyone_came_;
  std::size_t came_ = 0;
  std::uint64_t round_ = 0;
  bool aborted_ = false;
};

}  // namespace mgcompare::cuda
