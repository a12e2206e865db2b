#include "check/sum_measurement.h"

#include <algorithm>
#include <cstddef>
#include <memory>

namespace mgcompare {
namespace {

constexpr std::size_t kLeastSum = 4096;
constexpr std::size_t kCapturedCalls = 16;
// Floats. 128 MiB is more than the cache of a GPU holds (60 MB on an H200). Writing them takes some 40 us there; on GPUs with a tenth of its
// bandwidth their noise exceeds the time of a small call.
constexpr std::size_t kWrittenBefore = 1u << 25;
constexpr double kLeastSeconds = 1e-7;  // of a call: where noise makes a difference of two times smaller

}  // namespace

void SumMeasurement::run(std::size_t me, std::size_t devices, Collectives& group) {
  const bool member = me < devices;
  // No rank may be in an exchange while memory is allocated: all are behind one barrier here, and before the next.
  if (group.recordable() && ranks_.memories[me].before.empty()) ranks_.memories[me].before = device_array<float>(*ranks_.devices[me], kWrittenBefore);
  ranks_.barrier.wait();
  if (member) good_[me] = sum_is_right(me, devices, group);
  ranks_.barrier.wait();
  if (me == 0 && std::find(good_.begin(), good_.begin() + static_cast<std::ptrdiff_t>(devices), 0) !=
                     good_.begin() + static_cast<std::ptrdiff_t>(devices))
    ranks_.links.wrong_sums.push_back(devices);
  for (const std::string& call : ranks_.scope.calls) {
    if (me == 0) ranks_.report(call + " over " + std::to_string(devices) + " devices");
    for (std::size_t bytes = kLeastSum; bytes <= ranks_.effort.max_sum_bytes; bytes *= size_step()) {
      // Each rank is the root in turn: ranks that send to the same root again and again run ahead of it, which they do not in a step.
      std::size_t number = 0;
      const auto one = [&] { make_call(call, group, vectors(me, devices, bytes, number++ % devices)); };
      const Vec sent = sent_by(call, vectors(me, devices, bytes, 0));
      const double seconds = group.recordable() ? seconds_of_captured(me, member, one) : seconds_behind_writes(me, member, sent, one);
      if (me != 0) continue;
      if (call == kAllReduce) ranks_.links.all_reduces.push_back({devices, bytes, seconds});
      else ranks_.links.others.push_back({call, devices, bytes, seconds});
    }
  }
}

// From one timed size to the next. Predictions interpolate, and the time jumps where a library changes its algorithm.
std::size_t SumMeasurement::size_step() const { return ranks_.scope.calls.size() > 1 ? 2 : 4; }

// Of a vector of so many bytes.
CallVectors SumMeasurement::vectors(std::size_t me, std::size_t devices, std::size_t bytes, std::size_t root) {
  return {static_cast<int>(me), static_cast<int>(root), ranks_.memories[me].sums.data(), ranks_.memories[me].parts.data(), bytes, devices};
}

// Seconds of a call as in steps on CPUs, where each rank has just written what it sends: what both take longer than the writes alone.
// Ranks that only repeat the call find in their caches what others have read, and have not to take it back before they write it.
template <class Call>
double SumMeasurement::seconds_behind_writes(std::size_t me, bool member, Vec sent, const Call& call) {
  const auto write = [&] { ranks_.devices[me]->zero(sent.data(), sent.size() * sizeof(float)); };
  const double both = timing_.together(me, [&] {
    if (member) write(), call();
  });
  const double alone = timing_.together(me, [&] {
    if (member) write();
  });
  return std::max(kLeastSeconds, both - alone);
}

// Seconds of a call as in captured steps, where it follows a kernel that writes: what a sequence of both takes longer than one of the
// kernels alone. Where the host issues each call, small ones take as long as it does. The kernel writes more than the cache holds: between
// two calls of a step are layers whose samples and instructions displace the call's own from the caches.
template <class Call>
double SumMeasurement::seconds_of_captured(std::size_t me, bool member, const Call& call) {
  const auto write = [&] { ranks_.devices[me]->zero(ranks_.memories[me].before.data(), ranks_.memories[me].before.size() * sizeof(float)); };
  const double both = seconds_in_sequence(me, member, [&] { write(), call(); });
  return std::max(kLeastSeconds, both - seconds_in_sequence(me, member, write));
}

// Seconds of f() in a captured sequence.
template <class F>
double SumMeasurement::seconds_in_sequence(std::size_t me, bool member, F f) {
  std::unique_ptr<GraphRecorder> recorder = member ? ranks_.platform.recorder(*ranks_.devices[me], 1) : nullptr;
  // Making and destroying it allocates and frees memory of the host, which may wait for all devices: no rank may be in an exchange meanwhile.
  ranks_.barrier.wait();
  if (member) f();  // libraries may still allocate
  ranks_.devices[me]->synchronize();
  ranks_.barrier.wait();
  std::size_t graph = 0;
  if (recorder != nullptr) {
    recorder->begin();
    for (std::size_t k = 0; k < kCapturedCalls; ++k) f();
    graph = recorder->end();
  }
  ranks_.barrier.wait();
  const double seconds = timing_.together(me, [&] {
    if (recorder != nullptr) recorder->repeat(graph);
  });
  recorder.reset();
  ranks_.barrier.wait();
  return seconds / static_cast<double>(kCapturedCalls);
}

bool SumMeasurement::sum_is_right(std::size_t me, std::size_t devices, Collectives& group) {
  Device& device = *ranks_.devices[me];
  DoctorMemory& memory = ranks_.memories[me];
  auto* const host = reinterpret_cast<float*>(memory.host.data());
  const std::size_t count = ranks_.effort.check_bytes / sizeof(float);
  // Sums of small integers are exact in any order.
  for (std::size_t i = 0; i < count; ++i) host[i] = static_cast<float>((me + 1) * (i % 251));
  device.copy_to_device(memory.sums.data(), host, ranks_.effort.check_bytes);
  group.all_reduce(static_cast<int>(me), memory.sums.data(), count, Type::float32);
  device.copy_to_host(host, memory.sums.data(), ranks_.effort.check_bytes);
  // Repeated sums would overflow a float. Sums of zeros do not.
  device.zero(memory.sums.data(), ranks_.effort.check_bytes);
  device.synchronize();
  for (std::size_t i = 0; i < count; ++i)
    if (host[i] != static_cast<float>(devices * (devices + 1) / 2 * (i % 251))) return false;
  return true;
}

}  // namespace mgcompare
