#include "cuda/collectives.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "cuda/combine.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

constexpr std::size_t kScratchBytes = 32u << 20;
constexpr char kWhat[] = "exchanging data between GPUs";
// An abort does not wait for ever for a rank that is stuck inside a call.
constexpr std::chrono::seconds kAbortPatience{2};

bool half(Type type) { return type == Type::float16 || type == Type::bfloat16; }

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

std::unique_ptr<Communicators> Communicators::make(const std::vector<int>& devices) {
  auto made = std::make_unique<Communicators>();
  made->devices = devices;
  made->comms.resize(devices.size());
  // Freed where connecting fails. Later kernels use it that an error may leave waiting, and freeing would wait for them.
  std::vector<std::unique_ptr<void, decltype(&cudaFree)>> scratch;
  for (const int device : devices) {
    const Current current(device);
    scratch.emplace_back(allocate_device(kScratchBytes), &cudaFree);
    check(cudaMemset(scratch.back().get(), 0, kScratchBytes), "clearing scratch memory for exchanges");
    check(cudaDeviceSynchronize(), "clearing scratch memory for exchanges");
  }
  {
    int former = 0;
    check(cudaGetDevice(&former), kWhat);
    const ncclResult_t status =
        ncclCommInitAll(made->comms.data(), static_cast<int>(devices.size()), devices.data());
    cudaSetDevice(former);
    check(status, "connecting GPUs");
  }
  for (auto& memory : scratch) made->scratch.push_back(memory.release());
  std::vector<cudaStream_t> streams(devices.size());
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const Current current(devices[k]);
    check(cudaStreamCreateWithFlags(&streams[k], cudaStreamNonBlocking), "making a stream");
  }
  const auto everywhere = [&](const auto& queue) {
    check(ncclGroupStart(), kWhat);
    for (std::size_t k = 0; k < devices.size(); ++k) queue(k);
    check(ncclGroupEnd(), kWhat);
  };
  const std::size_t slice = kScratchBytes / devices.size() / 256 * 256;
  for (const std::size_t floats : {std::size_t{256}, std::size_t{1} << 20})
    everywhere([&](std::size_t k) {
      check(ncclAllReduce(made->scratch[k], made->scratch[k], floats, ncclFloat32, ncclSum, made->comms[k], streams[k]),
            kWhat);
    });
  everywhere([&](std::size_t k) {
    for (std::size_t peer = 0; peer < devices.size(); ++peer) {
      if (peer == k) continue;
      check(ncclSend(at(made->scratch[k], k * slice), 256, ncclUint8, static_cast<int>(peer), made->comms[k], streams[k]),
            kWhat);
      check(ncclRecv(at(made->scratch[k], peer * slice), 256, ncclUint8, static_cast<int>(peer), made->comms[k],
                     streams[k]),
            kWhat);
    }
  });
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const Current current(devices[k]);
    check(cudaStreamSynchronize(streams[k]), "connecting GPUs");
    cudaStreamDestroy(streams[k]);
  }
  return made;
}

void Communicators::open(const std::vector<Vec>& vectors) {
  std::vector<void*> memory;
  for (const Vec& vector : vectors) memory.push_back(vector.data());
  const bool wanted = std::all_of(memory.begin(), memory.end(), [](const void* at) { return at != nullptr; });
  if (!wanted || memory == windowed) return;
  for (std::size_t k = 0; k < windows.size(); ++k) {
    const Current current(devices[k]);
    if (windows[k] != nullptr) check(ncclCommWindowDeregister(comms[k], windows[k]), "closing windows on gradients");
  }
  windows.assign(devices.size(), nullptr);
  // Every communicator's call waits for the others': all of them are one group of calls.
  check(ncclGroupStart(), "opening windows on gradients");
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const Current current(devices[k]);
    check(ncclCommWindowRegister(comms[k], memory[k], vectors[k].bytes(), &windows[k], NCCL_WIN_COLL_SYMMETRIC),
          "opening windows on gradients");
  }
  check(ncclGroupEnd(), "opening windows on gradients");
  windowed = memory;
}

NcclCollectives::NcclCollectives(const std::vector<CudaDevice*>& devices, std::unique_ptr<Communicators> communicators,
                                 std::function<void(std::unique_ptr<Communicators>)> give_back)
    : PeerCollectives(devices), communicators_(std::move(communicators)), give_back_(std::move(give_back)),
      calling_(devices.size()) {}

NcclCollectives::~NcclCollectives() {
  if (!aborted_) give_back_(std::move(communicators_));
}

template <class F> void NcclCollectives::call(int rank, F f) {
  const auto me = static_cast<std::size_t>(rank);
  const cudaStream_t stream = this->stream(rank);
  {
    const std::lock_guard lock(calling_[me]);
    if (aborted_) throw Aborted();
    f(communicators_->comms[me], stream);
  }
  // A kernel that is launched for the first time is loaded then, which may have to wait for the device, with the driver's
  // locks held; and the device may be waiting for a rank that needs these locks. So a step that is not recorded loads
  // nothing beside an exchange, and what it loads, recorded ones have.
  cudaStreamCaptureStatus recording = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &recording), kWhat);
  if (recording == cudaStreamCaptureStatusNone) check(cudaStreamSynchronize(stream), kWhat);
}

void NcclCollectives::abort() {
  if (aborted_.exchange(true)) return;
  for (std::size_t rank = 0; rank < ranks(); ++rank) {
    const std::unique_lock lock(calling_[rank], kAbortPatience);
    // It frees the kernels at once, but those that sum through windows, which end with the process only. It returns when no
    // recorded step holds its collectives any more: those of this very thread go later.
    std::thread([comm = communicators_->comms[rank]] { ncclCommAbort(comm); }).detach();
  }
}

void NcclCollectives::exchange(ncclComm_t comm, cudaStream_t stream, int rank, const std::vector<Piece>& pieces) const {
  const auto me = static_cast<std::size_t>(rank);
  check(ncclGroupStart(), kWhat);
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    if (k == me) continue;
    const Piece& piece = pieces[k];
    if (piece.out_bytes > 0) check(ncclSend(piece.out, piece.out_bytes, ncclUint8, static_cast<int>(k), comm, stream), kWhat);
    if (piece.in_bytes > 0) check(ncclRecv(piece.in, piece.in_bytes, ncclUint8, static_cast<int>(k), comm, stream), kWhat);
  }
  check(ncclGroupEnd(), kWhat);
  const Piece& own = pieces[me];
  if (own.in_bytes > 0 && own.in != own.out)
    check(cudaMemcpyAsync(own.in, own.out, own.in_bytes, cudaMemcpyDeviceToDevice, stream), kWhat);
}

void NcclCollectives::add_in_order(ncclComm_t comm, cudaStream_t stream, int rank, const char* all, char* mine,
                                   const Counts& counts, Type type) const {
  const auto me = static_cast<std::size_t>(rank);
  const std::size_t width = size_of(type), most = kScratchBytes / ranks() / width / 64 * 64;
  const std::size_t longest = *std::max_element(counts.begin(), counts.end());
  char* const scratch = static_cast<char*>(communicators_->scratch[me]);
  for (std::size_t begin = 0; begin < longest; begin += most) {
    const auto part = [&](std::size_t k) { return counts[k] <= begin ? 0 : std::min(most, counts[k] - begin); };
    std::vector<Piece> pieces(ranks());
    Combination c{};
    for (std::size_t k = 0; k < ranks(); ++k) {
      pieces[k] = {all + (before(counts, k) + begin) * width, scratch + k * most * width, part(k) * width,
                   part(me) * width};
      c.from[c.sources++] = pieces[k].in;
    }
    exchange(comm, stream, rank, pieces);
    c.to[c.targets++] = mine + begin * width;
    c.range = {0, part(me)};
    combine(stream, c, type);
  }
}

double NcclCollectives::all_reduce(int rank, void* data, std::size_t count, Type type) {
  if (count == 0) return 0;
  call(rank, [&](ncclComm_t comm, cudaStream_t stream) {
    if (!half(type)) {
      check(ncclAllReduce(data, data, count, nccl_type(type), ncclSum, comm, stream), kWhat);
      return;
    }
    const auto me = static_cast<std::size_t>(rank);
    const std::size_t width = size_of(type);
    Counts counts;
    for (std::size_t k = 0; k < ranks(); ++k) counts.push_back(share(count, k, ranks()).size());
    char* const mine = at(data, before(counts, me) * width);
    add_in_order(comm, stream, rank, static_cast<const char*>(data), mine, counts, type);
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
    if (!half(type)) {
      check(ncclReduce(data, data, count, nccl_type(type), ncclSum, root, comm, stream), kWhat);
      return;
    }
    // The root's part is everything, the others' nothing; what each rank sends to it is its whole vector.
    Counts counts(ranks(), 0);
    counts[static_cast<std::size_t>(root)] = count;
    add_in_order(comm, stream, rank, static_cast<const char*>(data), static_cast<char*>(data), counts, type);
  });
  return 0;
}

double NcclCollectives::broadcast(int rank, void* data, std::size_t bytes, int root) {
  if (bytes == 0) return 0;
  call(rank, [&](ncclComm_t comm, cudaStream_t stream) {
    check(ncclBroadcast(data, data, bytes, ncclUint8, root, comm, stream), kWhat);
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
    if (half(type)) {
      add_in_order(comm, stream, rank, static_cast<const char*>(all), static_cast<char*>(mine), counts, type);
      return;
    }
    if (all_equal(counts)) {
      if (counts[0] > 0) check(ncclReduceScatter(all, mine, counts[0], nccl_type(type), ncclSum, comm, stream), kWhat);
      return;
    }
    check(ncclGroupStart(), kWhat);
    for (std::size_t k = 0; k < ranks(); ++k) {
      if (counts[k] == 0) continue;
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
