#include "check/doctor.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "base/abortable_barrier.h"
#include "base/median.h"
#include "base/rank_threads.h"
#include "check/collective_call.h"
#include "check/test_pattern.h"
#include "plan/trial.h"

namespace mgcompare {
namespace {

constexpr std::size_t kSmallBytes = 4, kLeastSum = 4096;
constexpr std::size_t kTail = 52;  // bytes beyond whole pages, so that partial pages are checked too
constexpr std::size_t kMatrix = 1024;
constexpr std::size_t kMaxCalls = 1u << 16;
constexpr std::size_t kCapturedCalls = 16;
constexpr double kLeastSeconds = 1e-7;  // of a call: where noise makes a difference of two times smaller
constexpr std::size_t kWrittenBefore = 1u << 16;  // floats, by a kernel before each captured call
constexpr int kRepeatedMeasurements = 2;

struct Effort {
  std::size_t copy_bytes, check_bytes, max_sum_bytes;
  double seconds;  // minimum duration of a timed batch of calls
  int repeats;
};
constexpr Effort kThorough = {16u << 20, 4u << 20, 64u << 20, 4e-3, 7};
constexpr Effort kBrief = {4u << 20, 1u << 20, 16u << 20, 5e-4, 3};

class LinkMeasurement {
 public:
  LinkMeasurement(Platform& platform, const DoctorScope& scope, const std::function<void(const std::string&)>& report)
      : platform_(platform),
        scope_(scope),
        effort_(scope.brief ? kBrief : kThorough),
        report_(report),
        barrier_(scope.devices),
        devices_(scope.devices),
        memories_(scope.devices),
        good_(scope.devices) {
    links_.kind = std::string(to_string(platform.kind()));
    links_.devices.resize(scope.devices);
  }

  LinkMeasurements run() {
    run_ranks(
        scope_.devices, [this](int rank) { run_rank(static_cast<std::size_t>(rank)); },
        [this] {
          barrier_.abort();
          const std::lock_guard lock(mutex_);
          for (const auto& collectives : made_) collectives->abort();
        });
    // Collectives and memory must be freed before their devices.
    made_.clear();
    memories_.clear();
    links_.problems = broken_links(links_);
    return links_;
  }

 private:
  // Allocated before the first exchange and freed after the last: allocation may wait for exchanges.
  struct Memory {
    std::unique_ptr<ExchangedVector> exchanged;
    Array<float> plain;            // if there is none
    Vec sums;                      // for collectives: the whole vector, which is one of the two
    Array<float> parts;            // this rank's part of it
    Array<float> before;           // what a kernel before a captured call writes
    Array<std::uint32_t> out, in;  // for copies between devices
    Array<std::uint32_t> host;
    Array<float> a, b, c;  // for arithmetic
  };

  void run_rank(std::size_t me) {
    devices_[me] = platform_.open(static_cast<int>(me));
    allocate(me);
    barrier_.wait();
    Collectives& everyone = *connect(me, scope_.devices);
    if (me == 0) report_("host links");
    for (std::size_t turn = 0; turn < scope_.devices; ++turn) {
      if (turn == me) measure_device(me);
      barrier_.wait();
    }
    if (me == 0) report_("pairs of devices");
    for (std::size_t from = 0; from < scope_.devices; ++from)
      for (std::size_t to = 0; to < scope_.devices; ++to)
        if (from != to) measure_pair(me, from, to, everyone);
    repeat_suspects(me, everyone);
    for (const std::size_t devices : scope_.groups) {
      if (devices < 2 || devices > scope_.devices) continue;
      measure_sums(me, devices, devices == scope_.devices ? everyone : *connect(me, devices));
    }
  }

  void allocate(std::size_t me) {
    Device& device = *devices_[me];
    Memory& memory = memories_[me];
    const std::size_t words = (std::max(effort_.copy_bytes, effort_.check_bytes) + kTail) / sizeof(std::uint32_t);
    const std::size_t floats = effort_.max_sum_bytes / sizeof(float);
    memory.exchanged = platform_.exchanged_vector(device, floats);
    if (memory.exchanged == nullptr) memory.plain = device_array<float>(device, floats);
    memory.sums = memory.exchanged == nullptr ? memory.plain.span() : memory.exchanged->values();
    memory.before = device_array<float>(device, kWrittenBefore);
    if (scope_.calls.size() > 1) memory.parts = device_array<float>(device, effort_.max_sum_bytes / sizeof(float));
    memory.out = device_array<std::uint32_t>(device, words);
    memory.in = device_array<std::uint32_t>(device, words);
    memory.host = host_array<std::uint32_t>(device, std::max(words, effort_.check_bytes / sizeof(float)));
    if (scope_.brief) return;
    for (Array<float>* matrix : {&memory.a, &memory.b, &memory.c})
      *matrix = device_array<float>(device, kMatrix * kMatrix);
  }

  // Connects the first `devices` devices. Every rank calls it.
  Collectives* connect(std::size_t me, std::size_t devices) {
    if (me == 0) {
      std::vector<Device*> first;
      for (std::size_t k = 0; k < devices; ++k) first.push_back(devices_[k].get());
      std::unique_ptr<Collectives> made = platform_.connect(first);
      const std::lock_guard lock(mutex_);
      made_.push_back(std::move(made));
    }
    barrier_.wait();
    Collectives* const newest = made_.back().get();
    barrier_.wait();
    return newest;
  }

  // Median seconds per call, from batches long enough that the clock and the final synchronization do not matter.
  template <class Call>
  double seconds_of(Device& device, Call call) const {
    const auto batch = [&](std::size_t calls) {
      const double start = now();
      for (std::size_t i = 0; i < calls; ++i) call();
      device.synchronize();
      return now() - start;
    };
    batch(1);
    std::size_t calls = 1;
    for (double took = batch(1); took < effort_.seconds && calls < kMaxCalls;) {
      calls = std::min(kMaxCalls, more_calls(calls, took));
      took = batch(calls);
    }
    std::vector<double> repeats;
    for (int i = 0; i < effort_.repeats; ++i) repeats.push_back(batch(calls) / static_cast<double>(calls));
    return median(repeats);
  }

  std::size_t more_calls(std::size_t calls, double took) const {
    return calls *
           static_cast<std::size_t>(std::clamp(std::ceil(1.2 * effort_.seconds / std::max(took, 1e-7)), 2.0, 16.0));
  }

  double rate(double seconds) const { return seconds > 0 ? static_cast<double>(effort_.copy_bytes) / seconds : 0; }
  std::size_t check_words() const { return (effort_.check_bytes + kTail) / sizeof(std::uint32_t); }

  void measure_device(std::size_t me) {
    Device& device = *devices_[me];
    Memory& memory = memories_[me];
    DeviceFigures& figures = links_.devices[me];
    figures.device = static_cast<int>(me);
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
        seconds_of(device, [&] { device.copy_to_device(memory.out.data(), memory.host.data(), kSmallBytes); });
    time_device(me);
  }

  // Keeps the best value of all measurements.
  void time_device(std::size_t me) {
    Device& device = *devices_[me];
    Memory& memory = memories_[me];
    DeviceFigures& figures = links_.devices[me];
    keep_best(figures.bytes_per_second_to_device, rate(seconds_of(device, [&] {
      device.copy_to_device(memory.out.data(), memory.host.data(), effort_.copy_bytes);
    })));
    keep_best(figures.bytes_per_second_to_host, rate(seconds_of(device, [&] {
      device.copy_to_host(memory.host.data(), memory.out.data(), effort_.copy_bytes);
    })));
    if (scope_.brief) return;
    const double product = seconds_of(device, [&] {
      device.matmul({memory.a.data(), memory.b.data(), memory.c.data(), kMatrix, kMatrix, kMatrix});
    });
    keep_best(figures.flops_per_second, 2.0 * kMatrix * kMatrix * kMatrix / product);
  }

  // Every rank calls it. The sender copies and measures, then the receiver checks the data.
  void measure_pair(std::size_t me, std::size_t from, std::size_t to, Collectives& everyone) {
    const std::size_t words = check_words();
    const auto use = static_cast<std::uint32_t>((from + 1) * 1000 + to);
    if (me == from) {
      Device& device = *devices_[me];
      Memory& memory = memories_[me];
      fill_with_pattern(memory.host.data(), words, use);
      device.copy_to_device(memory.out.data(), memory.host.data(), words * sizeof(std::uint32_t));
      PairLink pair;
      pair.from = static_cast<int>(from);
      pair.to = static_cast<int>(to);
      pair.direct = platform_.reaches(pair.from, pair.to);
      time_pair(pair, everyone);
      pair.seconds_small = seconds_of(device, [&] { put(pair, kSmallBytes, everyone); });
      put(pair, words * sizeof(std::uint32_t), everyone);
      device.synchronize();
      links_.pairs.push_back(pair);
    }
    barrier_.wait();
    if (me == to) {
      Device& device = *devices_[me];
      Memory& memory = memories_[me];
      std::fill_n(memory.host.data(), words, 0u);
      device.copy_to_host(memory.host.data(), memory.in.data(), words * sizeof(std::uint32_t));
      device.synchronize();
      links_.pairs.back().intact = holds_pattern(memory.host.data(), words, use);
    }
    barrier_.wait();
  }

  void put(const PairLink& pair, std::size_t bytes, Collectives& everyone) {
    // The words are sent as floats: the copy does not interpret them.
    float* const inbox = reinterpret_cast<float*>(memories_[static_cast<std::size_t>(pair.to)].in.data());
    const auto* const outbox =
        reinterpret_cast<const float*>(memories_[static_cast<std::size_t>(pair.from)].out.data());
    everyone.put(pair.from, pair.to, inbox, ConstVec(outbox, bytes / sizeof(float)));
  }

  // Called by the sender. Keeps the best value of all measurements.
  void time_pair(PairLink& pair, Collectives& everyone) {
    keep_best(pair.bytes_per_second, rate(seconds_of(*devices_[static_cast<std::size_t>(pair.from)], [&] {
      put(pair, effort_.copy_bytes, everyone);
    })));
  }

  static void keep_best(double& best, double found) { best = std::max(best, found); }

  // Measures suspicious devices and links again. Every rank calls it. A busy moment makes one measurement slow, a slow link
  // makes all of them slow.
  void repeat_suspects(std::size_t me, Collectives& everyone) {
    for (int repeat = 0; repeat < kRepeatedMeasurements; ++repeat) {
      if (me == 0) suspects_ = suspects_of(links_);
      barrier_.wait();
      for (const std::size_t device : suspects_.devices) {
        if (me == device) time_device(me);
        barrier_.wait();
      }
      for (const std::size_t place : suspects_.pairs) {
        PairLink& pair = links_.pairs[place];
        if (me == static_cast<std::size_t>(pair.from)) time_pair(pair, everyone);
        barrier_.wait();
      }
      barrier_.wait();
    }
  }

  // Every rank calls it; ranks outside of the group only wait.
  void measure_sums(std::size_t me, std::size_t devices, Collectives& group) {
    const bool member = me < devices;
    if (member) good_[me] = sum_is_right(me, devices, group);
    barrier_.wait();
    if (me == 0 && std::find(good_.begin(), good_.begin() + static_cast<std::ptrdiff_t>(devices), 0) !=
                       good_.begin() + static_cast<std::ptrdiff_t>(devices))
      links_.wrong_sums.push_back(devices);
    for (const std::string& call : scope_.calls) {
      // Captured sequences of the other calls have waited for ever on GPUs, for a cause that is not known.
      if (group.recordable() && call != kAllReduce) continue;
      if (me == 0) report_(call + " over " + std::to_string(devices) + " devices");
      for (std::size_t bytes = kLeastSum; bytes <= effort_.max_sum_bytes; bytes *= size_step()) {
        const double seconds = group.recordable() ? seconds_of_captured(me, member, [&] { make_call(call, group, vectors(me, devices, bytes, 0)); })
                                                  : seconds_behind_writes(me, member, call, devices, bytes, group);
        if (me != 0) continue;
        if (call == kAllReduce) links_.all_reduces.push_back({devices, bytes, seconds});
        else links_.others.push_back({call, devices, bytes, seconds});
      }
    }
  }

  // From one timed size to the next. Predictions interpolate, and the time jumps where a library changes its algorithm.
  std::size_t size_step() const { return scope_.calls.size() > 1 ? 2 : 4; }

  // Of a vector of so many bytes.
  CallVectors vectors(std::size_t me, std::size_t devices, std::size_t bytes, std::size_t root) {
    return {static_cast<int>(me), static_cast<int>(root), memories_[me].sums.data(), memories_[me].parts.data(), bytes, devices};
  }

  // Seconds of a call as in steps on CPUs, where each rank has just written what it sends: what both take longer than the writes alone.
  // Ranks that only repeat the call find in their caches what others have read, and have not to take it back before they write it.
  double seconds_behind_writes(std::size_t me, bool member, const std::string& call, std::size_t devices, std::size_t bytes, Collectives& group) {
    std::size_t number = 0;
    const auto write = [&] {
      const Vec sent = sent_by(call, vectors(me, devices, bytes, 0));
      devices_[me]->zero(sent.data(), sent.size() * sizeof(float));
    };
    const double both = seconds_of_sum(me, [&] {
      if (member) write(), make_call(call, group, vectors(me, devices, bytes, number++ % devices));
    });
    const double alone = seconds_of_sum(me, [&] {
      if (member) write();
    });
    return std::max(kLeastSeconds, both - alone);
  }

  // Seconds of a call as in captured steps, where it follows a kernel that writes: what a sequence of both takes longer than one of the
  // kernels alone. Where the host issues each call, small ones take as long as it does.
  template <class Call>
  double seconds_of_captured(std::size_t me, bool member, Call call) {
    const auto write = [&] { devices_[me]->zero(memories_[me].before.data(), kWrittenBefore * sizeof(float)); };
    const double both = seconds_in_sequence(me, member, [&] { write(), call(); });
    return std::max(kLeastSeconds, both - seconds_in_sequence(me, member, write));
  }

  // Seconds of f() in a captured sequence.
  template <class F>
  double seconds_in_sequence(std::size_t me, bool member, F f) {
    std::unique_ptr<GraphRecorder> recorder = member ? platform_.recorder(*devices_[me], 1) : nullptr;
    // Making and destroying it allocates and frees memory of the host, which may wait for all devices: no rank may be in an exchange meanwhile.
    barrier_.wait();
    if (member) f();                            // libraries may still allocate
    devices_[me]->synchronize();
    barrier_.wait();
    std::size_t graph = 0;
    if (recorder != nullptr) {
      recorder->begin();
      for (std::size_t k = 0; k < kCapturedCalls; ++k) f();
      graph = recorder->end();
    }
    barrier_.wait();
    const double seconds = seconds_of_sum(me, [&] {
      if (recorder != nullptr) recorder->repeat(graph);
    });
    recorder.reset();
    barrier_.wait();
    return seconds / static_cast<double>(kCapturedCalls);
  }

  // Like seconds_of(), with all ranks together. Rank 0 decides on the number of calls.
  template <class Call>
  double seconds_of_sum(std::size_t me, Call call) {
    const auto batch = [&](std::size_t calls) {
      barrier_.wait();
      const double start = now();
      for (std::size_t i = 0; i < calls; ++i) call();
      devices_[me]->synchronize();
      barrier_.wait();
      return now() - start;
    };
    batch(1);
    std::size_t calls = 1;
    for (double took = batch(calls);; took = batch(calls)) {
      if (me == 0)
        calls_ = took < effort_.seconds && calls < kMaxCalls ? std::min(kMaxCalls, more_calls(calls, took)) : calls;
      barrier_.wait();
      if (calls_ == calls) break;
      calls = calls_;
    }
    std::vector<double> repeats;
    for (int i = 0; i < effort_.repeats; ++i) repeats.push_back(batch(calls) / static_cast<double>(calls));
    return median(repeats);
  }

  bool sum_is_right(std::size_t me, std::size_t devices, Collectives& group) {
    Device& device = *devices_[me];
    Memory& memory = memories_[me];
    auto* const host = reinterpret_cast<float*>(memory.host.data());
    const std::size_t count = effort_.check_bytes / sizeof(float);
    // Sums of small integers are exact in any order.
    for (std::size_t i = 0; i < count; ++i) host[i] = static_cast<float>((me + 1) * (i % 251));
    device.copy_to_device(memory.sums.data(), host, effort_.check_bytes);
    group.all_reduce(static_cast<int>(me), memory.sums.data(), count, Type::float32);
    device.copy_to_host(host, memory.sums.data(), effort_.check_bytes);
    // Repeated sums would overflow a float. Sums of zeros do not.
    device.zero(memory.sums.data(), effort_.check_bytes);
    device.synchronize();
    for (std::size_t i = 0; i < count; ++i)
      if (host[i] != static_cast<float>(devices * (devices + 1) / 2 * (i % 251))) return false;
    return true;
  }

  Platform& platform_;
  const DoctorScope& scope_;
  const Effort effort_;
  const std::function<void(const std::string&)>& report_;
  AbortableBarrier barrier_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Memory> memories_;
  std::vector<char> good_;  // whether the last sum of each rank was right
  std::mutex mutex_;
  std::vector<std::unique_ptr<Collectives>> made_;
  std::size_t calls_ = 1;  // of the next batch of sums
  LinkMeasurements links_;
  Suspects suspects_;  // to be measured again
};

}  // namespace

LinkMeasurements measure_links(Platform& platform, const DoctorScope& scope, const std::function<void(const std::string&)>& report) {
  return LinkMeasurement(platform, scope, report).run();
}

}  // namespace mgcompare
