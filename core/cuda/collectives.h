#pragma once

// Collectives by NCCL, between ranks that have a device each. float32, bytes and words go through NCCL's reductions;
// float16 and bfloat16 are exchanged as they are and added in rank order in float32.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/peers.h"

namespace mgcompare::cuda {

// One communicator a device. Made once for a list of devices and used again by later trials; never destroyed while the
// process lives, because that hangs where a captured graph holds its collectives.
struct Communicators {
  std::vector<int> devices;
  std::vector<ncclComm_t> comms;
  std::vector<void*> scratch;       // kScratchBytes on each device
  std::vector<void*> windowed;      // of each device: the memory on which a window is open; empty where none is
  std::vector<ncclWindow_t> windows;

  // Throws Error. Opens all connections: one that opens later could meet a kernel that waits for it.
  static std::unique_ptr<Communicators> make(const std::vector<int>& devices);
  // Opens windows on a vector of each device, of one length: sums of its parts then go directly between the devices'
  // memories, in about three quarters of the time where links are fast. Later trials mostly have the same vectors,
  // whose windows stay open. No rank may be at work.
  void open(const std::vector<Vec>& vectors);
};

class NcclCollectives : public PeerCollectives {
 public:
  // `give_back` is called at the end with the communicators, unless they were aborted.
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
  // Calls f(communicator, stream) unless aborted; waits for it where nothing is being recorded.
  template <class F> void call(int rank, F f);
  // Sends and receives one piece for each rank; one's own is copied.
  void exchange(ncclComm_t comm, cudaStream_t stream, int rank, const std::vector<Piece>& pieces) const;
  // Sums of a two-byte type: `all` has the ranks' parts one behind the other, by counts; the own part's sum goes to `mine`.
  void add_in_order(ncclComm_t comm, cudaStream_t stream, int rank, const char* all, char* mine, const Counts& counts,
                    Type type) const;

  std::unique_ptr<Communicators> communicators_;
  std::function<void(std::unique_ptr<Communicators>)> give_back_;
  std::atomic<bool> aborted_ = false;
  std::vector<std::timed_mutex> calling_;  // one a rank
};

}  // namespace mgcompare::cuda
