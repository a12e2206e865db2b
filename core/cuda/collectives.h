#pragma once

// Collectives by NCCL, for one rank per device. NCCL reduces float32, uint8 and uint32. float16 and bfloat16 are exchanged
// unreduced and summed in rank order in float32.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/communicators.h"
#include "cuda/peer_collectives.h"

namespace mgcompare::cuda {

class NcclCollectives : public PeerCollectives {
 public:
  // The destructor passes the communicators to `give_back` for reuse, unless they were aborted.
  NcclCollectives(const std::vector<CudaDevice*>& devices, std::unique_ptr<Communicators> communicators,
                  std::function<void(std::unique_ptr<Communicators>)> give_back);
  ~NcclCollectives() override;
  double all_reduce(int rank, void* data, std::size_t count, Type type) override;
  double reduce(int rank, void* data, std::size_t count, Type type, int root) override;
  double broadcast(int rank, void* data, std::size_t bytes, int root) override;
  double gather(int rank, const void* mine, void* all, const Counts& bytes, int root) override;
  double scatter(int rank, const void* all, void* mine, const Counts& bytes, int root) override;
  double all_gather(int rank, const void* mine, void* all, const Counts& bytes) override;
  double reduce_scatter(int rank, const void* all, void* mine, const Counts& counts, Type type) override;
  double all_to_all(int rank, const void* out, const Counts& out_bytes, void* in, const Counts& in_bytes) override;
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
  // Sends one piece to and receives one from each other rank; copies the rank's own piece.
  void exchange(ncclComm_t comm, cudaStream_t stream, int rank, const std::vector<Piece>& pieces) const;
  // Reduce-scatter of a two-byte type: `all` has the ranks' parts in order, of counts[rank] elements; the sum of this rank's
  // part is written to `mine`.
  void exchange_and_reduce(ncclComm_t comm, cudaStream_t stream, int rank, const char* all, char* mine, const Counts& counts,
                    Type type) const;

  std::unique_ptr<Communicators> communicators_;
  std::function<void(std::unique_ptr<Communicators>)> give_back_;
  std::atomic<bool> aborted_ = false;
  std::vector<std::timed_mutex> call_mutexes_;  // of each rank, held during its NCCL calls
};

}  // namespace mgcompare::cuda
