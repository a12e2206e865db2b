#pragma once

// Collectives by NCCL, for one rank per device, on one host or several. NCCL reduces float32, uint8 and uint32. float16 and bfloat16, and
// on several hosts all types if the ranks are to be added in their order, are exchanged unreduced and summed in rank order.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/communicators.h"
#include "cuda/peer_collectives.h"

namespace mgcompare::cuda {

// How many bytes a broadcast of so many sends apart, so that the others are aligned in flat vectors that are at `vectors` (see
// CudaDevice::vectors()): NCCL copies unaligned memory in smaller units. Ranks must make the same calls, although only some may pass memory
// that is not aligned. Therefore the size decides, not the address. Another vector of the same size is split too, and takes as long as an
// unaligned one then. 0: the broadcast is not split.
std::size_t unaligned_head(Range vectors, std::size_t bytes);

class NcclCollectives : public PeerCollectives {
 public:
  // The destructor passes the communicators to `give_back` for reuse, unless they were aborted. `in_rank_order`: see
  // Platform::connect_hosts().
  NcclCollectives(const std::vector<CudaDevice*>& devices, std::unique_ptr<Communicators> communicators,
                  std::function<void(std::unique_ptr<Communicators>)> give_back, bool in_rank_order = false);
  ~NcclCollectives() override;
  double all_reduce(int rank, void* data, std::size_t count, Type type) override;
  double reduce(int rank, void* data, std::size_t count, Type type, int root) override;
  double broadcast(int rank, void* data, std::size_t bytes, int root) override;
  double gather(int rank, const void* mine, void* all, const Counts& bytes, int root) override;
  double scatter(int rank, const void* all, void* mine, const Counts& bytes, int root) override;
  double all_gather(int rank, const void* mine, void* all, const Counts& bytes) override;
  double reduce_scatter(int rank, const void* all, void* mine, const Counts& counts, Type type) override;
  double all_to_all(int rank, const void* out, const Counts& out_bytes, void* in, const Counts& in_bytes) override;
  Traffic traffic(int rank) const override { return traffic_[local(rank)]; }
  void abort() override;
  bool recordable() const override { return true; }

 private:
  struct Piece {
    const void* out = nullptr;
    void* in = nullptr;
    std::size_t out_bytes = 0, in_bytes = 0;
  };
  // Calls f(communicator, stream) and, outside of a stream capture, waits for the stream. Throws Aborted after abort().
  template <class F> void call(int rank, F f);
  std::size_t ranks() const { return communicators_->ranks(); }
  std::size_t host_of(std::size_t rank) const { return rank / ranks_here(); }
  bool adds_itself(Type type) const;
  // Counts what the rank sends to another one. NCCL may choose other ways than the ring that is counted for all-reduces, all-gathers and
  // reduce-scatters; the bytes that a rank sends are those of Group.
  void count(int rank, std::size_t to, double bytes);
  void count_ring(int rank, double bytes) { count(rank, (static_cast<std::size_t>(rank) + 1) % ranks(), bytes); }
  // Sends one piece to and receives one from each other rank; copies the rank's own piece.
  void exchange(ncclComm_t comm, cudaStream_t stream, int rank, const std::vector<Piece>& pieces);
  // Reduce-scatter of a two-byte type: `all` has the ranks' parts in order, of counts[rank] elements; the sum of this rank's
  // part is written to `mine`.
  void exchange_and_reduce(ncclComm_t comm, cudaStream_t stream, int rank, const char* all, char* mine, const Counts& counts,
                    Type type);

  std::unique_ptr<Communicators> communicators_;
  std::function<void(std::unique_ptr<Communicators>)> give_back_;
  bool in_rank_order_;
  Range vectors_;                               // see CudaDevice::vectors()
  std::vector<Traffic> traffic_;                // of the last call of each rank of this host
  std::atomic<bool> aborted_ = false;
  std::vector<std::timed_mutex> call_mutexes_;  // of each rank of this host, held during its NCCL calls
};

}  // namespace mgcompare::cuda
