#include "cuda/communicators.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "cuda/device.h"

namespace mgcompare::cuda {
namespace {

constexpr char kWhat[] = "connecting GPUs";
constexpr char kWindows[] = "registering NCCL windows for gradients";

// NCCL finds out for each buffer whether it is registered, as the gradient in its window is, and its calls may hang where some ranks or
// sides have a registered one and others have not (NCCL's user guide, User Buffer Registration): a rank that gathers the gradients of
// others, say, into other memory. With these variables only windows count as registered, which only collectives between windows use.
// Called by one rank while the others wait.
void register_windows_only() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const char* const name : {"NCCL_LOCAL_REGISTER", "NCCL_GRAPH_REGISTER"}) setenv(name, "0", 1);
  });
}

// Scratch memory on every device. Freed if connecting fails; afterwards never freed, because after an error kernels that use
// it may still wait, and freeing would wait for them.
using Scratch = std::vector<std::unique_ptr<void, decltype(&cudaFree)>>;

Scratch allocate_scratch(const std::vector<int>& devices) {
  Scratch scratch;
  for (const int device : devices) {
    const DeviceGuard guard(device);
    scratch.emplace_back(allocate_device(kScratchBytes), &cudaFree);
    check(cudaMemset(scratch.back().get(), 0, kScratchBytes), "clearing scratch memory for exchanges");
    check(cudaDeviceSynchronize(), "clearing scratch memory for exchanges");
  }
  return scratch;
}

}  // namespace

std::unique_ptr<Communicators> Communicators::make(const std::vector<int>& devices, const HostSpan& hosts) {
  if (hosts.count == 1) register_windows_only();  // there are no windows on several
  auto made = std::make_unique<Communicators>();
  made->devices = devices;
  made->hosts = hosts.count;
  made->host = hosts.number;
  made->comms.resize(devices.size());
  Scratch scratch = allocate_scratch(devices);
  made->connect(hosts);
  for (auto& memory : scratch) made->scratch.push_back(memory.release());
  made->open_connections();
  return made;
}

void Communicators::connect(const HostSpan& span) {
  ncclUniqueId id;
  if (host == 0) check(ncclGetUniqueId(&id), kWhat);
  broadcast(span, &id, sizeof(id));
  const DeviceGuard guard;  // restores the device
  check(ncclGroupStart(), kWhat);
  for (std::size_t k = 0; k < devices.size(); ++k) {
    check(cudaSetDevice(devices[k]), kWhat);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    check(ncclCommInitRankConfig(&comms[k], static_cast<int>(ranks()), id, static_cast<int>(first() + k), &config), kWhat);
  }
  check(ncclGroupEnd(), kWhat);
}

void Communicators::open_connections() const {
  std::vector<cudaStream_t> streams(devices.size());
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const DeviceGuard guard(devices[k]);
    check(cudaStreamCreateWithFlags(&streams[k], cudaStreamNonBlocking), "creating a stream");
  }
  const auto on_all_devices = [&](const auto& enqueue) {
    check(ncclGroupStart(), kWhat);
    for (std::size_t k = 0; k < devices.size(); ++k) enqueue(k);
    check(ncclGroupEnd(), kWhat);
  };
  const auto slice = [&](std::size_t k, std::size_t part) {
    return static_cast<char*>(scratch[k]) + part * (kScratchBytes / ranks() / 256 * 256);
  };
  for (const std::size_t floats : {std::size_t{256}, std::size_t{1} << 20})
    on_all_devices([&](std::size_t k) {
      check(ncclAllReduce(scratch[k], scratch[k], floats, ncclFloat32, ncclSum, comms[k], streams[k]), kWhat);
    });
  on_all_devices([&](std::size_t k) {
    const std::size_t own = first() + k;
    for (std::size_t peer = 0; peer < ranks(); ++peer) {
      if (peer == own) continue;
      check(ncclSend(slice(k, own), 256, ncclUint8, static_cast<int>(peer), comms[k], streams[k]), kWhat);
      check(ncclRecv(slice(k, peer), 256, ncclUint8, static_cast<int>(peer), comms[k], streams[k]), kWhat);
    }
  });
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const DeviceGuard guard(devices[k]);
    check(cudaStreamSynchronize(streams[k]), kWhat);
    cudaStreamDestroy(streams[k]);
  }
}

void Communicators::register_windows(const std::vector<Vec>& vectors) {
  std::vector<void*> memory;
  for (const Vec& vector : vectors) memory.push_back(vector.data());
  const bool all_present = std::all_of(memory.begin(), memory.end(), [](const void* at) { return at != nullptr; });
  if (!all_present || memory == window_memory) return;
  for (std::size_t k = 0; k < windows.size(); ++k) {
    const DeviceGuard guard(devices[k]);
    if (windows[k] != nullptr) check(ncclCommWindowDeregister(comms[k], windows[k]), kWindows);
  }
  windows.assign(devices.size(), nullptr);
  // Registration is collective: each call waits for those of the other communicators, so all calls are one NCCL group.
  check(ncclGroupStart(), kWindows);
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const DeviceGuard guard(devices[k]);
    check(ncclCommWindowRegister(comms[k], memory[k], vectors[k].bytes(), &windows[k], NCCL_WIN_COLL_SYMMETRIC),
          kWindows);
  }
  check(ncclGroupEnd(), kWindows);
  window_memory = memory;
}

}  // namespace mgcompare::cuda
