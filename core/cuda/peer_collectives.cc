#include "cuda/peer_collectives.h"

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "cuda/ordered_reduction.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

constexpr char kOtherHost[] = "serving a rank of another host";

// Enables access of kernels on `from` to memory of `to`; returns false if the hardware does not support it. Enables each pair
// once per process: CUDA reports a second call as an error, which compute-sanitizer would show.
bool enable_access(int from, int to) {
  static std::mutex lock;
  static std::set<std::pair<int, int>> enabled;
  if (from == to) return true;
  const std::lock_guard guard(lock);
  if (enabled.contains({from, to})) return true;
  int possible = 0;
  check(cudaDeviceCanAccessPeer(&possible, from, to), "querying peer access");
  if (possible == 0) return false;
  const DeviceGuard device(from);
  const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) cudaGetLastError();
  else check(status, "enabling peer access");
  enabled.emplace(from, to);
  return true;
}

bool adds_atomically(int from, int to) {
  if (from == to) return true;
  int possible = 0;
  check(cudaDeviceGetP2PAttribute(&possible, cudaDevP2PAttrNativeAtomicSupported, from, to), "querying peer access");
  return possible != 0;
}

}  // namespace

PeerCollectives::PeerCollectives(const std::vector<CudaDevice*>& devices, std::size_t first_rank) : devices_(devices), first_rank_(first_rank) {
  for (const CudaDevice* from : devices)
    for (const CudaDevice* to : devices) all_reach_all_ = enable_access(from->index(), to->index()) && all_reach_all_;
}

void PeerCollectives::copy(int rank, void* to, int to_device, const void* from, int from_device,
                           std::size_t bytes) const {
  if (bytes == 0) return;
  check(cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream(rank)), "copying between ranks");
}

void PeerCollectives::get(int rank, int peer, const float* from, Vec into) {
  copy(rank, into.data(), device(rank).index(), from, device(peer).index(), into.bytes());
}

void PeerCollectives::put(int rank, int peer, float* to, ConstVec from) {
  copy(rank, to, device(peer).index(), from.data(), device(rank).index(), from.bytes());
}

void PeerCollectives::add(int rank, int peer, float* to, ConstVec from) {
  if (!adds_atomically(device(rank).index(), device(peer).index()))
    throw Error("device " + std::to_string(device(rank).index()) + " cannot add to the memory of device " +
                std::to_string(device(peer).index()) +
                ": this strategy needs GPUs connected by links with atomic operations (NVLink)");
  add_atomically(stream(rank), to, from.data(), from.size());
}

// On the stream of the calling thread: that of the rank is its own thread's, and may be capturing.
void PeerCollectives::load(int rank, const float* from, Vec into) {
  const DeviceGuard guard(device(rank).index());
  check(cudaMemcpyAsync(into.data(), from, into.bytes(), cudaMemcpyDeviceToHost, cudaStreamPerThread), kOtherHost);
  check(cudaStreamSynchronize(cudaStreamPerThread), kOtherHost);
}

void PeerCollectives::store(int rank, float* to, ConstVec from) {
  const DeviceGuard guard(device(rank).index());
  check(cudaMemcpyAsync(to, from.data(), from.bytes(), cudaMemcpyHostToDevice, cudaStreamPerThread), kOtherHost);
  check(cudaStreamSynchronize(cudaStreamPerThread), kOtherHost);
}

void PeerCollectives::accumulate(int rank, float* to, ConstVec from) {
  const DeviceGuard guard(device(rank).index());
  CachingAllocator& allocator = device(rank).gpu().memory;
  const auto release = [&](void* memory) { allocator.release(memory); };
  const std::unique_ptr<void, decltype(release)> terms(allocator.allocate(from.bytes()), release);
  check(cudaMemcpyAsync(terms.get(), from.data(), from.bytes(), cudaMemcpyHostToDevice, cudaStreamPerThread), kOtherHost);
  add_atomically(cudaStreamPerThread, to, static_cast<const float*>(terms.get()), from.size());
  check(cudaStreamSynchronize(cudaStreamPerThread), kOtherHost);
}

}  // namespace mgcompare::cuda
