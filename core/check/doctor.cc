#include "check/doctor.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/rank_threads.h"
#include "check/call_timing.h"
#include "check/doctor_ranks.h"
#include "check/sum_measurement.h"
#include "check/test_pattern.h"
#include "plan/trial.h"

namespace mgcompare {
namespace {

constexpr std::size_t kSmallBytes = 4;
constexpr std::size_t kTail = 52;  // bytes beyond whole pages, so that partial pages are checked too
constexpr std::size_t kMatrix = 1024;
constexpr int kRepeatedMeasurements = 2;

constexpr DoctorEffort kThorough = {16u << 20, 4u << 20, 64u << 20, 4e-3, 7};
constexpr DoctorEffort kBrief = {4u << 20, 1u << 20, 16u << 20, 5e-4, 3};

class LinkMeasurement {
 public:
  LinkMeasurement(Platform& platform, const DoctorScope& scope, const std::function<void(const std::string&)>& report)
      : ranks_{platform,
               scope,
               scope.brief ? kBrief : kThorough,
               report,
               AbortableBarrier(scope.devices),
               std::vector<std::unique_ptr<Device>>(scope.devices),
               std::vector<DoctorMemory>(scope.devices),
               {}},
        timing_(ranks_),
        sums_(ranks_) {
    ranks_.links.kind = std::string(to_string(platform.kind()));
    ranks_.links.devices.resize(scope.devices);
  }

  LinkMeasurements run() {
    run_ranks(
        ranks_.scope.devices, [this](int rank) { run_rank(static_cast<std::size_t>(rank)); },
        [this] {
          ranks_.barrier.abort();
          const std::lock_guard lock(mutex_);
          for (const auto& collectives : made_) collectives->abort();
        });
    // Collectives and memory must be freed before their devices.
    made_.clear();
    ranks_.memories.clear();
    ranks_.links.problems = broken_links(ranks_.links);
    return ranks_.links;
  }

 private:
  void run_rank(std::size_t me) {
    ranks_.devices[me] = ranks_.platform.open(id_of(me));
    allocate(me);
    ranks_.barrier.wait();
    Collectives& everyone = *connect(me, ranks_.scope.devices);
    if (me == 0) ranks_.report("host links");
    for (std::size_t turn = 0; turn < ranks_.scope.devices; ++turn) {
      if (turn == me) measure_device(me);
      ranks_.barrier.wait();
    }
    if (me == 0) ranks_.report("pairs of devices");
    for (std::size_t from = 0; from < ranks_.scope.devices; ++from)
      for (std::size_t to = 0; to < ranks_.scope.devices; ++to)
        if (from != to) measure_pair(me, from, to, everyone);
    repeat_suspects(me, everyone);
    for (const std::size_t devices : ranks_.scope.groups) {
      if (devices < 2 || devices > ranks_.scope.devices) continue;
      sums_.run(me, devices, devices == ranks_.scope.devices ? everyone : *connect(me, devices));
    }
  }

  // The number of a rank's device on the platform, and the reverse.
  int id_of(std::size_t rank) const { return ranks_.scope.ids.empty() ? static_cast<int>(rank) : ranks_.scope.ids[rank]; }
  std::size_t rank_of(int id) const {
    std::size_t rank = 0;
    while (id_of(rank) != id) ++rank;
    return rank;
  }

  void allocate(std::size_t me) {
    Device& device = *ranks_.devices[me];
    DoctorMemory& memory = ranks_.memories[me];
    const std::size_t words = (std::max(ranks_.effort.copy_bytes, ranks_.effort.check_bytes) + kTail) / sizeof(std::uint32_t);
    const std::size_t floats = ranks_.effort.max_sum_bytes / sizeof(float);
    memory.exchanged = ranks_.platform.exchanged_vector(device, floats);
    if (memory.exchanged == nullptr) memory.plain = device_array<float>(device, floats);
    memory.sums = memory.exchanged == nullptr ? memory.plain.span() : memory.exchanged->values();
    if (ranks_.scope.calls.size() > 1) memory.parts = device_array<float>(device, ranks_.effort.max_sum_bytes / sizeof(float));
    memory.out = device_array<std::uint32_t>(device, words);
    memory.in = device_array<std::uint32_t>(device, words);
    memory.host = host_array<std::uint32_t>(device, words);
    if (ranks_.scope.brief) return;
    for (Array<float>* matrix : {&memory.a, &memory.b, &memory.c})
      *matrix = device_array<float>(device, kMatrix * kMatrix);
  }

  // Connects the first `devices` devices. Every rank calls it.
  Collectives* connect(std::size_t me, std::size_t devices) {
    if (me == 0) {
      std::vector<Device*> first;
      for (std::size_t k = 0; k < devices; ++k) first.push_back(ranks_.devices[k].get());
      std::unique_ptr<Collectives> made = ranks_.platform.connect(first);
      const std::lock_guard lock(mutex_);
      made_.push_back(std::move(made));
    }
    ranks_.barrier.wait();
    Collectives* const newest = made_.back().get();
    ranks_.barrier.wait();
    return newest;
  }

  double rate(double seconds) const { return seconds > 0 ? static_cast<double>(ranks_.effort.copy_bytes) / seconds : 0; }
  std::size_t check_words() const { return (ranks_.effort.check_bytes + kTail) / sizeof(std::uint32_t); }

  void measure_device(std::size_t me) {
    Device& device = *ranks_.devices[me];
    DoctorMemory& memory = ranks_.memories[me];
    DeviceFigures& figures = ranks_.links.devices[me];
    figures.device = id_of(me);
    const std::size_t words = check_words(), bytes = words * sizeof(std::uint32_t);
    const auto use = static_cast<std::uint32_t>(me + 1);
    fill_with_pattern(memory.host.data(), words, use);
    device.copy_to_device(memory.out.data(), memory.host.data(), bytes);
    device.synchronize();
    std::fill_n(memory.host.data(), words, 0u);
    device.copy_to_host(memory.host.data(), memory.out.data(), bytes);
    device.synchronize();
    figures.intact = holds_pattern(memory.host.data(), words, use);
    figures.seconds_small_to_device =
        timing_.alone(me, [&] { device.copy_to_device(memory.out.data(), memory.host.data(), kSmallBytes); });
    time_device(me);
  }

  // Keeps the best value of all measurements.
  void time_device(std::size_t me) {
    Device& device = *ranks_.devices[me];
    DoctorMemory& memory = ranks_.memories[me];
    DeviceFigures& figures = ranks_.links.devices[me];
    keep_best(figures.bytes_per_second_to_device, rate(timing_.alone(me, [&] {
      device.copy_to_device(memory.out.data(), memory.host.data(), ranks_.effort.copy_bytes);
    })));
    keep_best(figures.bytes_per_second_to_host, rate(timing_.alone(me, [&] {
      device.copy_to_host(memory.host.data(), memory.out.data(), ranks_.effort.copy_bytes);
    })));
    if (ranks_.scope.brief) return;
    const double product = timing_.alone(me, [&] {
      device.matmul({memory.a.data(), memory.b.data(), memory.c.data(), kMatrix, kMatrix, kMatrix});
    });
    keep_best(figures.flops_per_second, 2.0 * kMatrix * kMatrix * kMatrix / product);
  }

  // Every rank calls it. The sender copies and measures, then the receiver checks the data.
  void measure_pair(std::size_t me, std::size_t from, std::size_t to, Collectives& everyone) {
    const std::size_t words = check_words();
    const auto use = static_cast<std::uint32_t>((from + 1) * 1000 + to);
    if (me == from) {
      Device& device = *ranks_.devices[me];
      DoctorMemory& memory = ranks_.memories[me];
      fill_with_pattern(memory.host.data(), words, use);
      device.copy_to_device(memory.out.data(), memory.host.data(), words * sizeof(std::uint32_t));
      PairLink pair;
      pair.from = id_of(from);
      pair.to = id_of(to);
      pair.direct = ranks_.platform.reaches(pair.from, pair.to);
      time_pair(pair, from, to, everyone);
      pair.seconds_small = timing_.alone(from, [&] { put(from, to, kSmallBytes, everyone); });
      put(from, to, words * sizeof(std::uint32_t), everyone);
      device.synchronize();
      ranks_.links.pairs.push_back(pair);
    }
    ranks_.barrier.wait();
    if (me == to) {
      Device& device = *ranks_.devices[me];
      DoctorMemory& memory = ranks_.memories[me];
      std::fill_n(memory.host.data(), words, 0u);
      device.copy_to_host(memory.host.data(), memory.in.data(), words * sizeof(std::uint32_t));
      device.synchronize();
      ranks_.links.pairs.back().intact = holds_pattern(memory.host.data(), words, use);
    }
    ranks_.barrier.wait();
  }

  void put(std::size_t from, std::size_t to, std::size_t bytes, Collectives& everyone) {
    // The words are sent as floats: the copy does not interpret them.
    float* const inbox = reinterpret_cast<float*>(ranks_.memories[to].in.data());
    const auto* const outbox = reinterpret_cast<const float*>(ranks_.memories[from].out.data());
    everyone.put(static_cast<int>(from), static_cast<int>(to), inbox, ConstVec(outbox, bytes / sizeof(float)));
  }

  // Called by the sender. Keeps the best value of all measurements.
  void time_pair(PairLink& pair, std::size_t from, std::size_t to, Collectives& everyone) {
    keep_best(pair.bytes_per_second, rate(timing_.alone(from, [&] { put(from, to, ranks_.effort.copy_bytes, everyone); })));
  }

  static void keep_best(double& best, double found) { best = std::max(best, found); }

  // Measures suspicious devices and links again. Every rank calls it. A busy moment makes one measurement slow, a slow link
  // makes all of them slow.
  void repeat_suspects(std::size_t me, Collectives& everyone) {
    for (int repeat = 0; repeat < kRepeatedMeasurements; ++repeat) {
      if (me == 0) suspects_ = suspects_of(ranks_.links);
      ranks_.barrier.wait();
      for (const std::size_t device : suspects_.devices) {
        if (me == device) time_device(me);
        ranks_.barrier.wait();
      }
      for (const std::size_t place : suspects_.pairs) {
        PairLink& pair = ranks_.links.pairs[place];
        const std::size_t from = rank_of(pair.from);
        if (me == from) time_pair(pair, from, rank_of(pair.to), everyone);
        ranks_.barrier.wait();
      }
      ranks_.barrier.wait();
    }
  }

  DoctorRanks ranks_;
  CallTiming timing_;
  SumMeasurement sums_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Collectives>> made_;
  Suspects suspects_;  // to be measured again
};

}  // namespace

LinkMeasurements measure_links(Platform& platform, const DoctorScope& scope, const std::function<void(const std::string&)>& report) {
  return LinkMeasurement(platform, scope, report).run();
}

}  // namespace mgcompare
