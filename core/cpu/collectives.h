#pragma once

// Collectives between ranks that are threads of one process, on CPU devices. Waiting ranks sleep. Each rank reduces its
// share of the elements in rank order, so that all ranks get identical results.

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

#include "base/abortable_barrier.h"
#include "platform/equal_arguments.h"
#include "platform/platform.h"

namespace mgcompare {

class CpuCollectives : public Collectives {
 public:
  explicit CpuCollectives(std::size_t ranks) : ranks_(ranks), slots_(ranks), barrier_(ranks) {}

  double all_reduce(int rank, void* data, std::size_t count, Type type) override;
  double reduce(int rank, void* data, std::size_t count, Type type, int root) override;
  double broadcast(int rank, void* data, std::size_t bytes, int root) override;
  double gather(int rank, const void* mine, void* all, const Counts& bytes, int root) override;
  double scatter(int rank, const void* all, void* mine, const Counts& bytes, int root) override;
  double all_gather(int rank, const void* mine, void* all, const Counts& bytes) override;
  double reduce_scatter(int rank, const void* all, void* mine, const Counts& counts, Type type) override;
  double all_to_all(int rank, const void* out, const Counts& out_bytes, void* in, const Counts& in_bytes) override;
  void get(int rank, int peer, const float* from, Vec into) override;
  void put(int rank, int peer, float* to, ConstVec from) override;
  void add(int rank, int peer, float* to, ConstVec from) override;
  void abort() override { barrier_.abort(); }

 private:
  // Arguments of a rank that the others may read between the two barriers of a collective.
  struct Slot {
    CollectiveCall call;
    void* data = nullptr;
    const Counts* counts = nullptr;
    std::size_t size = 0;
  };
  // Publishes this rank's slot, waits for all ranks, runs `work`, waits until all ranks are done. Returns seconds waited.
  template <class Work> double run_collective(int rank, const Slot& slot, Work work);
  double wait();

  std::size_t ranks_;
  std::vector<Slot> slots_;
  AbortableBarrier barrier_;
  std::mutex mutex_;
  std::condition_variable no_readers_;
  std::size_t readers_ = 0;  // ranks that read the vectors of others, or are about to
};

}  // namespace mgcompare
