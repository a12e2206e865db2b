#include "cuda/collectives.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "cuda/ordered_reduction.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

constexpr char kWhat[] = "exchanging data between GPUs";
// How long abort() waits for a rank that is inside an NCCL call.
constexpr std::chrono::seconds kAbortTimeout{2};
// NCCL copies memory in units of 16 bytes if it is so aligned. Smaller broadcasts are not worth a split: on two H200s one of 1 MB takes 16.1 us
// in place of 15.3, and one of 1.7 MB 20.8 us in place of 28.8.
constexpr std::size_t kUnit = 16, kLeastSplit = 3u << 19;

ncclDataType_t nccl_type(Type type) {
  if (type == Type::float32) return ncclFloat32;
  return type == Type::uint8 ? ncclUint8 : ncclUint32;
}

bool all_equal(const Counts& counts) {
  return std::all_of(counts.begin(), counts.end(), [&](std::size_t count) { return count == counts[0]; });
}

const char* at(const void* data, std::size_t bytes) { return static_cast<const char*>(data) + bytes; }
char* at(void* data, std::size_t bytes) { return static_cast<char*>(data) + bytes; }

}  // namespace

std::size_t unaligned_head(Range vectors, std::size_t bytes) {
  if (bytes < kLeastSplit || bytes != vectors.size() * sizeof(float)) return 0;
  return (kUnit - vectors.begin * sizeof(float) % kUnit) % kUnit;
}

NcclCollectives::NcclCollectives(const std::vector<CudaDevice*>& devices, std::unique_ptr<Communicators> communicators,
                                 std::function<void(std::unique_ptr<Communicators>)> give_back, bool in_rank_order)
    : PeerCollectives(devices, communicators->first()), communicators_(std::move(communicators)), give_back_(std::move(give_back)),
      in_rank_order_(in_rank_order), vectors_(devices.front()->vectors()), traffic_(devices.size()), call_mutexes_(devices.size()) {}

NcclCollectives::~NcclCollectives() {
  if (!aborted_) give_back_(std::move(communicators_));
}

bool NcclCollectives::adds_itself(Type type) const {
  return in_rank_order_ || type == Type::float16 || type == Type::bfloat16;
}

void NcclCollectives::count(int rank, std::size_t to, double bytes) {
  Traffic& traffic = traffic_[local(rank)];
  (host_of(to) == communicators_->host ? traffic.within_host : traffic.between_hosts) += bytes;
}

template <class F> void NcclCollectives::call(int rank, F f) {
  const std::size_t me = local(rank);
  traffic_[me] = {};
  const cudaStream_t stream = this->stream(rank);
  {
    const std::lock_guard lock(call_mutexes_[me]);
    if (aborted_) throw Aborted();
    f(communicators_->comms[me], stream);
  }
  // The first launch of a kernel loads it, which may wait for the device while holding driver locks, and the device may wait
  // for a rank that needs these locks: a deadlock. Therefore no kernel of an uncaptured step is loaded while a collective
  // runs. Captured steps only contain kernels that uncaptured ones have loaded.
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &capture), kWhat);
  if (capture == cudaStreamCaptureStatusNone) check(cudaStreamSynchronize(stream), kWhat);
}

void NcclCollectives::abort() {
  if (aborted_.exchange(true)) return;
  for (std::size_t rank = 0; rank < ranks_here(); ++rank) {
    const std::unique_lock lock(call_mutexes_[rank], kAbortTimeout);
    // ncclCommAbort ends running kernels at once, except reductions through windows, which end with the process. It returns
    // only after all graphs with collectives of the communicator are destroyed. The calling thread may own such graphs, so
    // the abort runs on a thread of its own.
    std::thread([comm = communicators_->comms[rank]] { ncclCommAbort(comm); }).detach();
  }
}

void NcclCollectives::exchange(ncclComm_t comm, cudaStream_t stream, int rank, const std::vector<Piece>& pieces) {
  const auto me = static_cast<std::size_t>(rank);
  check(ncclGroupStart(), kWhat);
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    if (k == me) continue;
    const Piece& piece = pieces[k];
    count(rank, k, static_cast<double>(piece.out_bytes));
    if (piece.out_bytes > 0) check(ncclSend(piece.out, piece.out_bytes, ncclUint8, static_cast<int>(k), comm, stream), kWhat);
    if (piece.in_bytes > 0) check(ncclRecv(piece.in, piece.in_bytes, ncclUint8, static_cast<int>(k), comm, stream), kWhat);
  }
  check(ncclGroupEnd(), kWhat);
  const Piece& own = pieces[me];
  if (own.in_bytes > 0 && own.in != own.out)
    check(cudaMemcpyAsync(own.in, own.out, own.in_bytes, cudaMemcpyDeviceToDevice, stream), kWhat);
}

void NcclCollectives::exchange_and_reduce(ncclComm_t comm, cudaStream_t stream, int rank, const char* all, char* mine,
                                   const Counts& counts, Type type) {
  if (ranks() > kMaxSources)
    throw Error("a sum in rank order takes at most " + std::to_string(kMaxSources) +
                " GPUs; train on fewer, or leave out numerics.deterministic and two-byte types");
  const auto me = static_cast<std::size_t>(rank);
  const std::size_t width = size_of(type), max_part = kScratchBytes / ranks() / width / 64 * 64;
  const std::size_t longest = *std::max_element(counts.begin(), counts.end());
  char* const scratch = static_cast<char*>(communicators_->scratch[local(rank)]);
  for (std::size_t begin = 0; begin < longest; begin += max_part) {
    const auto part = [&](std::size_t k) { return counts[k] <= begin ? 0 : std::min(max_part, counts[k] - begin); };
    std::vector<Piece> pieces(ranks());
    OrderedReduction c{};
    for (std::size_t k = 0; k < ranks(); ++k) {
      pieces[k] = {all + (before(counts, k) + begin) * width, scratch + k * max_part * width, part(k) * width,
                   part(me) * width};
      c.from[c.sources++] = pieces[k].in;
    }
    exchange(comm, stream, rank, pieces);
    c.to[c.targets++] = mine + begin * width;
    c.range = {0, part(me)};
    reduce_in_order(stream, c, type);
  }
}

double NcclCollectives::all_reduce(int rank, void* data, std::size_t count, Type type) {
  if (count == 0) return 0;
  call(rank, [&](ncclComm_t comm, cudaStream_t stream) {
    if (!adds_itself(type)) {
      const auto n = static_cast<double>(ranks());
      count_ring(rank, 2 * (n - 1) / n * static_cast<double>(count * size_of(type)));
      check(ncclAllReduce(data, data, count, nccl_type(type), ncclSum, comm, stream), kWhat);
      return;
    }
    const auto me = static_cast<std::size_t>(rank);
    const std::size_t width = size_of(type);
    Counts counts;
    for (std::size_t k = 0; k < ranks(); ++k) counts.push_back(share(count, k, ranks()).size());
    char* const mine = at(data, before(counts, me) * width);
    exchange_and_reduce(comm, stream, rank, static_cast<const char*>(data), mine, counts, type);
    std::vector<Piece> pieces;
    for (std::size_t k = 0; k < ranks(); ++k)
      pieces.push_back({mine, at(data, before(counts, k) * width), counts[me] * width, counts[k] * width});
    exchange(comm, stream, rank, pieces);
  });
  return 0;
}

double NcclCollectives::reduce(int rank, void* data, std::size_t count, Type type, int root) {
  if (count == 0) return 0;
  call(rank, [&](ncclComm_t comm, cudaStream_t stream) {
    if (!adds_itself(type)) {
      if (rank != root) this->count(rank, static_cast<std::size_t>(root), static_cast<double>(count * size_of(type)));
      check(ncclReduce(data, data, count, nccl_type(type), ncclSum, root, comm, stream), kWhat);
      return;
    }
    // The root's part is the whole vector, and the parts of the others are empty.
    Counts counts(ranks(), 0);
    counts[static_cast<std::size_t>(root)] = count;
    exchange_and_reduce(comm, stream, rank, static_cast<const char*>(data), static_cast<char*>(data), counts, type);
  });
  return 0;
}

double NcclCollectives::broadcast(int rank, void* data, std::size_t bytes, int root) {
  if (bytes == 0) return 0;
  call(rank, [&](ncclComm_t comm, cudaStream_t stream) {
    for (std::size_t to = 0; rank == root && to < ranks(); ++to)
      if (to != static_cast<std::size_t>(root)) count(rank, to, static_cast<double>(bytes));
    const std::size_t head = unaligned_head(vectors_, bytes);
    char* const body = at(data, head);
    check(ncclGroupStart(), kWhat);  // one kernel for both
    if (head > 0) check(ncclBroadcast(data, data, head, ncclUint8, root, comm, stream), kWhat);
    check(ncclBroadcast(body, body, bytes - head, ncclUint8, root, comm, stream), kWhat);
    check(ncclGroupEnd(), kWhat);
  });
  return 0;
}

double NcclCollectives::gather(int rank, const void* mine, void* all, const Counts& bytes, int root) {
  call(rank, [&](ncclComm_t comm, cudaStream_t stream) {
    std::vector<Piece> pieces(ranks());
    pieces[static_cast<std::size_t>(root)].out = mine;
    pieces[static_cast<std::size_t>(root)].out_bytes = bytes[static_cast<std::size_t>(rank)];
    for (std::size_t k = 0; rank == root && k < ranks(); ++k) {
      pieces[k].in = at(all, before(bytes, k));
      pieces[k].in_bytes = bytes[k];
    }
    exchange(comm, stream, rank, pieces);
  });
  return 0;
}

double NcclCollectives::scatter(int rank, const void* all, void* mine, const Counts& bytes, int root) {
  call(rank, [&](ncclComm_t comm, cudaStream_t stream) {
    std::vector<Piece> pieces(ranks());
    pieces[static_cast<std::size_t>(root)].in = mine;
    pieces[static_cast<std::size_t>(root)].in_bytes = bytes[static_cast<std::size_t>(rank)];
    for (std::size_t k = 0; rank == root && k < ranks(); ++k) {
      pieces[k].out = at(all, before(bytes, k));
      pieces[k].out_bytes = bytes[k];
    }
    exchange(comm, stream, rank, pieces);
  });
  return 0;
}

double NcclCollectives::all_gather(int rank, const void* mine, void* all, const Counts& bytes) {
  call(rank, [&](ncclComm_t comm, cudaStream_t stream) {
    const auto me = static_cast<std::size_t>(rank);
    if (all_equal(bytes)) {
      count_ring(rank, static_cast<double>((ranks() - 1) * bytes[0]));
      if (bytes[0] > 0) check(ncclAllGather(mine, all, bytes[0], ncclUint8, comm, stream), kWhat);
      return;
    }
    std::vector<Piece> pieces;
    for (std::size_t k = 0; k < ranks(); ++k) pieces.push_back({mine, at(all, before(bytes, k)), bytes[me], bytes[k]});
    exchange(comm, stream, rank, pieces);
  });
  return 0;
}

double NcclCollectives::reduce_scatter(int rank, const void* all, void* mine, const Counts& counts, Type type) {
  call(rank, [&](ncclComm_t comm, cudaStream_t stream) {
    if (adds_itself(type)) {
      exchange_and_reduce(comm, stream, rank, static_cast<const char*>(all), static_cast<char*>(mine), counts, type);
      return;
    }
    if (all_equal(counts)) {
      count_ring(rank, static_cast<double>((ranks() - 1) * counts[0] * size_of(type)));
      if (counts[0] > 0) check(ncclReduceScatter(all, mine, counts[0], nccl_type(type), ncclSum, comm, stream), kWhat);
      return;
    }
    check(ncclGroupStart(), kWhat);
    for (std::size_t k = 0; k < ranks(); ++k) {
      if (counts[k] == 0) continue;
      if (k != static_cast<std::size_t>(rank)) count(rank, k, static_cast<double>(counts[k] * size_of(type)));
      check(ncclReduce(at(all, before(counts, k) * size_of(type)), mine, counts[k], nccl_type(type), ncclSum,
                       static_cast<int>(k), comm, stream),
            kWhat);
    }
    check(ncclGroupEnd(), kWhat);
  });
  return 0;
}

double NcclCollectives::all_to_all(int rank, const void* out, const Counts& out_bytes, void* in,
                                   const Counts& in_bytes) {
  call(rank, [&](ncclComm_t comm, cudaStream_t stream) {
    std::vector<Piece> pieces;
    for (std::size_t k = 0; k < ranks(); ++k)
      pieces.push_back({at(out, before(out_bytes, k)), at(in, before(in_bytes, k)), out_bytes[k], in_bytes[k]});
    exchange(comm, stream, rank, pieces);
  });
  return 0;
}

}  // namespace mgcompare::cuda
