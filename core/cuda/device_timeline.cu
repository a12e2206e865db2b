#include "cuda/device_timeline.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.h"
#include "cuda/launch.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

// Per round of a graph. 24 steps with a dozen marks each, and a few more per exchange, need several hundred.
constexpr std::size_t kMaxEvents = 1 << 14;
// Made before marks are placed. Steps by the host have some dozen marks each.
constexpr std::size_t kPreparedEvents = 1 << 12;
constexpr char kWhat[] = "reading a device's clock";

// Timestamps after the end of the last round are stored in that round.
__global__ void note_time(unsigned long long* stamps, const unsigned* round, unsigned rounds, std::size_t slot) {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  const unsigned at = *round < rounds ? *round : rounds - 1;
  stamps[at * kMaxEvents + slot] = now;
}

__global__ void next_round(unsigned* round) { ++*round; }

}  // namespace

CudaTimeline::CudaTimeline(CudaDevice& device)
    : device_(device), stamps_(device, kRounds * kMaxEvents), round_(device, 1) {
  std::call_once(device.gpu().mark_cost_measured, [this] { device_.gpu().seconds_a_mark = measure_mark(); });
  // Loads the kernel now, not while an exchange runs. measure_mark() has loaded note_time.
  next_round<<<1, 1, 0, device_.compute_stream()>>>(round_.data());
  check(cudaGetLastError(), kWhat);
  device_.zero(round_.data(), sizeof(unsigned));
  check(cudaEventRecord(origin_.get(), device_.compute_stream()), kWhat);
  device_.synchronize();
}

void CudaTimeline::open(bool capturing) {
  capturing_ = capturing;
  if (capturing) events_.clear();
  device_.set_timeline(this);
}

CudaTimeline::Event CudaTimeline::make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), kWhat);
  return Event(event);
}

void CudaTimeline::record(cudaStream_t stream, std::size_t slot) {
  if (slot == recorded_.size()) recorded_.push_back(make_event());
  check(cudaEventRecord(recorded_[slot].get(), stream), kWhat);
}

// The event of an exchange beside may end after what the compute stream waits for.
double CudaTimeline::seconds_at(cudaEvent_t event) const {
  check(cudaEventSynchronize(event), kWhat);
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, origin_.get(), event), kWhat);
  return static_cast<double>(milliseconds) * 1e-3;
}

void CudaTimeline::stamp(cudaStream_t stream, std::size_t slot) {
  note_time<<<1, 1, 0, stream>>>(stamps_.data(), round_.data(), static_cast<unsigned>(kRounds), slot);
  check(cudaGetLastError(), kWhat);
}

void CudaTimeline::place(cudaStream_t stream, Phase phase, bool beside, const ExchangeSize& size) {
  if (!capturing_) {
    record(stream, events_.size());
  } else if (events_.size() == kMaxEvents) {
    throw Error("a captured graph has more than " + std::to_string(kMaxEvents) + " phases: use a shorter period");
  } else {
    stamp(stream, events_.size());
  }
  events_.push_back({phase, beside, 0, size});
  (beside ? exchange_phase_ : compute_phase_) = phase;
}

void CudaTimeline::mark(Phase phase, const ExchangeSize& size) noexcept {
  if (failure_ != nullptr) return;
  try {
    // While a backward pass calls `ready`, exchanges and updates run on the exchange stream, and the compute stream continues.
    if (device_.overlaps() && (phase == Phase::exchange || phase == Phase::optimizer))
      return place(device_.exchange_stream(), phase, true, size);
    if (exchange_phase_ != Phase::outside) place(device_.handles().exchange, Phase::outside, true);
    if (!device_.overlaps() || phase != compute_phase_) place(device_.compute_stream(), phase, false, size);
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void CudaTimeline::end_round() {
  if (!capturing_) return ends_.push_back(events_.size());
  next_round<<<1, 1, 0, device_.compute_stream()>>>(round_.data());
  check(cudaGetLastError(), kWhat);
}

std::vector<std::vector<PhaseEvent>> CudaTimeline::take() {
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  if (!capturing_) {
    device_.synchronize();
    for (std::size_t k = 0; k < events_.size(); ++k) events_[k].at = seconds_at(recorded_[k].get());
    if (ends_.empty()) ends_.push_back(events_.size());
    std::vector<std::vector<PhaseEvent>> rounds;
    auto begin = events_.begin();
    for (const std::size_t end : std::exchange(ends_, {})) rounds.emplace_back(std::exchange(begin, events_.begin() + static_cast<std::ptrdiff_t>(end)), begin);
    events_.clear();
    return rounds;
  }
  unsigned rounds = 0;
  device_.copy_to_host(&rounds, round_.data(), sizeof rounds);
  device_.synchronize();
  std::vector<std::vector<PhaseEvent>> all;
  std::vector<Nanoseconds> stamps(events_.size());
  Nanoseconds first = 0;
  for (std::size_t round = 0; round < std::clamp<std::size_t>(rounds, 1, kRounds); ++round) {
    device_.copy_to_host(stamps.data(), stamps_.data() + round * kMaxEvents, stamps.size() * sizeof(Nanoseconds));
    device_.synchronize();
    if (round == 0 && !stamps.empty()) first = stamps.front();
    // A double resolves the time since 1970, which these stamps are, to a quarter of a microsecond only.
    for (std::size_t k = 0; k < events_.size(); ++k)
      events_[k].at = static_cast<double>(static_cast<std::int64_t>(stamps[k] - first)) * 1e-9;
    all.push_back(events_);
  }
  device_.zero(round_.data(), sizeof(unsigned));
  return all;
}

CudaTimeline::Nanoseconds CudaTimeline::read(std::size_t slot) {
  Nanoseconds stamp = 0;
  device_.copy_to_host(&stamp, stamps_.data() + slot, sizeof stamp);
  device_.synchronize();
  return stamp;
}

// Time per event of a captured sequence of events: the minimum of three replays.
double CudaTimeline::measure_mark() {
  constexpr std::size_t kStamps = 256;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t runnable = nullptr;
  check(cudaStreamBeginCapture(device_.compute_stream(), cudaStreamCaptureModeThreadLocal), kWhat);
  for (std::size_t slot = 0; slot < kStamps; ++slot) stamp(device_.compute_stream(), slot);
  check(cudaStreamEndCapture(device_.compute_stream(), &graph), kWhat);
  check(cudaGraphInstantiate(&runnable, graph, 0), kWhat);
  double best = 0;
  for (int repetition = 0; repetition < 3; ++repetition) {
    check(cudaGraphLaunch(runnable, device_.compute_stream()), kWhat);
    const Nanoseconds first = read(0), last = read(kStamps - 1);
    const double seconds = static_cast<double>(last - first) * 1e-9 / static_cast<double>(kStamps - 1);
    best = repetition == 0 ? seconds : std::min(best, seconds);
  }
  cudaGraphExecDestroy(runnable);
  cudaGraphDestroy(graph);
  return best;
}

// The host clock is read before and after each event. The reading with the shortest interval is the most accurate.
double CudaTimeline::ahead() {
  while (recorded_.size() < kPreparedEvents) recorded_.push_back(make_event());
  // CUDA gives the time since the origin as a float: after minutes it would be too coarse.
  check(cudaEventRecord(origin_.get(), device_.compute_stream()), kWhat);
  double closest = 1e9, ahead = 0;
  for (int reading = 0; reading < 20; ++reading) {
    device_.synchronize();
    const double before = now();
    record(device_.compute_stream(), 0);
    device_.synchronize();
    const double after = now();
    const double at = seconds_at(recorded_.front().get());
    if (after - before >= closest) continue;
    closest = after - before;
    ahead = (before + after) / 2 - at;
  }
  return ahead;
}

}  // namespace mgcompare::cuda
