#pragma once

// Collectives between ranks on the CPU devices of several hosts, each with the same number of ranks. The ranks of a host meet; then the
// first of them exchanges with those of the other hosts, on behalf of all. Waiting ranks sleep.
//
// Reductions either add the ranks in their order, for which each rank's vector crosses the network, or add within each host first, for
// which one vector of each host does. Each host adds a slice of the vector and sends it to the others: all ranks get the same bits.

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

#include "base/abortable_barrier.h"
#include "platform/equal_arguments.h"
#include "platform/platform.h"
#include "platform/transport.h"

namespace mgcompare {

class HostCollectives : public Collectives {
 public:
  HostCollectives(std::size_t ranks_here, const HostSpan& hosts, bool in_rank_order)
      : here_(ranks_here), hosts_(hosts), in_rank_order_(in_rank_order), slots_(ranks_here), traffic_(ranks_here), barrier_(ranks_here) {}

  double all_reduce(int rank, void* data, std::size_t count, Type type) override;
  double reduce(int rank, void* data, std::size_t count, Type type, int root) override;
  double broadcast(int rank, void* data, std::size_t bytes, int root) override;
  double gather(int rank, const void* mine, void* all, const Counts& bytes, int root) override;
  double scatter(int rank, const void* all, void* mine, const Counts& bytes, int root) override;
  double all_gather(int rank, const void* mine, void* all, const Counts& bytes) override;
  double reduce_scatter(int rank, const void* all, void* mine, const Counts& counts, Type type) override;
  double all_to_all(int rank, const void* out, const Counts& out_bytes, void* in, const Counts& in_bytes) override;
  // Within this host; HostAccess reaches others.
  void get(int rank, int peer, const float* from, Vec into) override;
  void put(int rank, int peer, float* to, ConstVec from) override;
  void add(int rank, int peer, float* to, ConstVec from) override;
  void load(int rank, const float* from, Vec into) override;
  void store(int rank, float* to, ConstVec from) override;
  void accumulate(int rank, float* to, ConstVec from) override;
  Traffic traffic(int rank) const override { return traffic_[local(static_cast<std::size_t>(rank))]; }
  void abort() override;

 private:
  // Arguments of a rank of this host. Reductions and broadcasts have one vector, `data`.
  struct Slot {
    CollectiveCall call;
    void* data = nullptr;             // what it sends
    void* into = nullptr;             // what it receives
    const Counts* counts = nullptr;   // of `data`
    const Counts* into_counts = nullptr;
    std::size_t size = 0;
  };
  // Publishes this rank's slot; when all have, the first rank runs `work`; the others sleep until it is done. Returns seconds waited.
  template <class Work> double run_collective(int rank, const Slot& slot, Work work);
  void set_working(bool working);
  // Sends and receives, and counts the bytes.
  void exchange(const std::vector<Outgoing>& out, const std::vector<Incoming>& in);
  // The vectors that this host adds to a sum: those of its ranks, or one that is their sum.
  std::vector<const char*> own_terms(std::size_t count, Type type);
  // The vectors to add, in the order of the sum, each from the first element on that this host adds up. `wanted`: the elements that each
  // host adds up.
  std::vector<const char*> all_terms(const std::vector<Range>& wanted, std::size_t count, Type type);
  // Counts the vectors that ranks hand to the first of their host, and that it hands back if `returns`.
  void share_within(double bytes, bool returns);

  std::size_t first() const { return hosts_.number * here_; }
  std::size_t ranks() const { return hosts_.count * here_; }
  std::size_t local(std::size_t rank) const { return rank - first(); }
  std::size_t host_of(std::size_t rank) const { return rank / here_; }
  bool is_here(std::size_t rank) const { return host_of(rank) == hosts_.number; }

  std::size_t here_;
  HostSpan hosts_;
  bool in_rank_order_;
  std::vector<Slot> slots_;
  std::vector<Traffic> traffic_;    // of the last call, by local rank
  AbortableBarrier barrier_;
  std::mutex mutex_;
  std::condition_variable idle_;
  bool is_working_ = false;         // the first rank uses the vectors of all, or is about to
  std::vector<char> sum_, received_;  // kept, so that no allocation disturbs a step
};

}  // namespace mgcompare
