#include "cuda/shared_device_collectives.h"

#include <algorithm>
#include <string>

#include "base/clock.h"
#include "cuda/ordered_reduction.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

void copy_bytes(cudaStream_t stream, void* to, const void* from, std::size_t bytes) {
  if (bytes != 0 && to != from)
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "copying between ranks");
}

char* at(void* data, std::size_t bytes) { return static_cast<char*>(data) + bytes; }

}  // namespace

SharedDeviceCollectives::SharedDeviceCollectives(const std::vector<CudaDevice*>& devices, const Connect& connect)
    : PeerCollectives(devices), slots_(devices.size()), barrier_(devices.size()) {
  if (devices.size() > kMaxSources)
    throw Error(std::to_string(devices.size()) + " ranks cannot share devices: use at most " +
                std::to_string(kMaxSources) + " ranks, or one device per rank");
  std::vector<CudaDevice*> leaders;
  for (std::size_t rank = 0; rank < slots_.size(); ++rank) {
    const auto leader = std::find_if(leaders.begin(), leaders.end(),
                                     [&](const CudaDevice* each) { return each->index() == devices[rank]->index(); });
    device_number_.push_back(static_cast<int>(leader - leaders.begin()));
    if (leader == leaders.end()) {
      leader_of_.push_back(rank);
      leaders.push_back(devices[rank]);
    } else {
      leader_of_.push_back(
          leader_of_[static_cast<std::size_t>(std::find(devices.begin(), devices.end(), *leader) - devices.begin())]);
    }
    const DeviceGuard guard(devices[rank]->index());
    for (cudaEvent_t* event : {&slots_[rank].published, &slots_[rank].done})
      check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "creating an event");
  }
  if (leaders.size() > 1) leaders_ = connect(leaders);
}

void SharedDeviceCollectives::require_peer_access() const {
  if (!all_reach_all())
    throw Error("this exchange between ranks that share devices needs peer access between all devices, which these devices "
                "do not support: use one rank per device");
}

SharedDeviceCollectives::~SharedDeviceCollectives() {
  for (const Slot& slot : slots_) {
    cudaEventDestroy(slot.published);
    cudaEventDestroy(slot.done);
  }
}

double SharedDeviceCollectives::wait() {
  const double start = now();
  barrier_.wait();
  return now() - start;
}

void SharedDeviceCollectives::abort() {
  barrier_.abort();
  if (leaders_ != nullptr) leaders_->abort();
}

template <class Work>
double SharedDeviceCollectives::run_collective(int rank, const CollectiveCall& call, const void* data, const Counts* counts, std::size_t size, Work work) {
  Slot& mine = slots_[static_cast<std::size_t>(rank)];
  mine.call = call;
  mine.data = const_cast<void*>(data);
  if (counts != nullptr) mine.copy = *counts;
  mine.counts = counts == nullptr ? nullptr : &mine.copy;
  mine.size = size;
  const cudaStream_t stream = this->stream(rank);
  check(cudaEventRecord(mine.published, stream), "synchronising ranks");
  double waited = wait();
  check_same_call(slots_);
  for (const Slot& slot : slots_) check(cudaStreamWaitEvent(stream, slot.published), "synchronising ranks");
  work(stream);
  check(cudaEventRecord(mine.done, stream), "synchronising ranks");
  waited += wait();
  for (const Slot& slot : slots_) check(cudaStreamWaitEvent(stream, slot.done), "synchronising ranks");
  // No rank may record its events again before all ranks have queued their waits for them.
  return waited + wait();
}

double SharedDeviceCollectives::all_reduce(int rank, void* data, std::size_t count, Type type) {
  if (leaders_ == nullptr || size_of(type) == 2) {
    return run_collective(rank, {"all_reduce", type}, data, nullptr, count, [&](cudaStream_t stream) {
      check_equal_sizes(slots_);
      require_peer_access();
      OrderedReduction c{};
      for (const Slot& slot : slots_) {
        c.from[c.sources++] = slot.data;
        c.to[c.targets++] = slot.data;
      }
      c.range = share(count, static_cast<std::size_t>(rank), ranks_here());
      reduce_in_order(stream, c, type);
    });
  }
  const double waited = run_collective(rank, {"all_reduce", type}, data, nullptr, count, [&](cudaStream_t stream) {
    check_equal_sizes(slots_);
    if (!leads(rank)) return;
    OrderedReduction c{};
    for (std::size_t other = 0; other < ranks_here(); ++other)
      if (leader_of_[other] == static_cast<std::size_t>(rank)) c.from[c.sources++] = slots_[other].data;
    c.to[c.targets++] = data;
    c.range = {0, count};
    reduce_in_order(stream, c, type);
    leaders_->all_reduce(device_number_[static_cast<std::size_t>(rank)], data, count, type);
  });
  return waited + run_collective(rank, {"all_reduce", type}, data, nullptr, count, [&](cudaStream_t stream) {
    copy_bytes(stream, data, slots_[leader_of_[static_cast<std::size_t>(rank)]].data, count * size_of(type));
  });
}

double SharedDeviceCollectives::reduce(int rank, void* data, std::size_t count, Type type, int root) {
  return run_collective(rank, {"reduce", type, root}, data, nullptr, count, [&](cudaStream_t stream) {
    check_equal_sizes(slots_);
    require_peer_access();
    OrderedReduction c{};
    for (const Slot& slot : slots_) c.from[c.sources++] = slot.data;
    c.to[c.targets++] = slots_[static_cast<std::size_t>(root)].data;
    c.range = share(count, static_cast<std::size_t>(rank), ranks_here());
    reduce_in_order(stream, c, type);
  });
}

double SharedDeviceCollectives::broadcast(int rank, void* data, std::size_t bytes, int root) {
  return run_collective(rank, {"broadcast", Type::uint8, root}, data, nullptr, bytes, [&](cudaStream_t stream) {
    check_equal_sizes(slots_);
    if (rank != root) copy_bytes(stream, data, slots_[static_cast<std::size_t>(root)].data, bytes);
  });
}

double SharedDeviceCollectives::gather(int rank, const void* mine, void* all, const Counts& bytes, int root) {
  return run_collective(rank, {"gather", Type::uint8, root}, mine, &bytes, 0, [&](cudaStream_t stream) {
    check_equal_counts(slots_);
    if (rank != root) return;
    for (std::size_t r = 0, begin = 0; r < ranks_here(); begin += bytes[r++])
      copy_bytes(stream, at(all, begin), slots_[r].data, bytes[r]);
  });
}

double SharedDeviceCollectives::scatter(int rank, const void* all, void* mine, const Counts& bytes, int root) {
  return run_collective(rank, {"scatter", Type::uint8, root}, all, &bytes, 0, [&](cudaStream_t stream) {
    check_equal_counts(slots_);
    const auto me = static_cast<std::size_t>(rank);
    copy_bytes(stream, mine, at(slots_[static_cast<std::size_t>(root)].data, before(bytes, me)), bytes[me]);
  });
}

double SharedDeviceCollectives::all_gather(int rank, const void* mine, void* all, const Counts& bytes) {
  return run_collective(rank, {"all_gather"}, mine, &bytes, 0, [&](cudaStream_t stream) {
    check_equal_counts(slots_);
    for (std::size_t r = 0, begin = 0; r < ranks_here(); begin += bytes[r++])
      copy_bytes(stream, at(all, begin), slots_[r].data, bytes[r]);
  });
}

double SharedDeviceCollectives::reduce_scatter(int rank, const void* all, void* mine, const Counts& counts, Type type) {
  return run_collective(rank, {"reduce_scatter", type}, all, &counts, 0, [&](cudaStream_t stream) {
    check_equal_counts(slots_);
    require_peer_access();
    const auto me = static_cast<std::size_t>(rank);
    OrderedReduction c{};
    for (const Slot& slot : slots_) c.from[c.sources++] = at(slot.data, before(counts, me) * size_of(type));
    c.to[c.targets++] = mine;
    c.range = {0, counts[me]};
    reduce_in_order(stream, c, type);
  });
}

double SharedDeviceCollectives::all_to_all(int rank, const void* out, const Counts& out_bytes, void* in,
                                      const Counts& in_bytes) {
  return run_collective(rank, {"all_to_all"}, out, &out_bytes, 0, [&](cudaStream_t stream) {
    const auto me = static_cast<std::size_t>(rank);
    for (std::size_t r = 0, begin = 0; r < ranks_here(); begin += in_bytes[r++]) {
      const Slot& slot = slots_[r];
      if ((*slot.counts)[me] != in_bytes[r])
        throw Error("all_to_all: rank " + std::to_string(r) + " sends " + std::to_string((*slot.counts)[me]) +
                    " bytes to rank " + std::to_string(rank) + ", which expects " + std::to_string(in_bytes[r]) +
                    "; counts must agree on both ranks");
      copy_bytes(stream, at(in, begin), at(slot.data, before(*slot.counts, me)), in_bytes[r]);
    }
  });
}

}  // namespace mgcompare::cuda
