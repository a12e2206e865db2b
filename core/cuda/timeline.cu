#include "cuda/timeline.h"

#include <algorithm>
#include <mutex>

#include "base/clock.h"
#include "cuda/launch.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

// Of one round: 24 steps of a dozen marks and some for each exchange are some hundreds.
constexpr std::size_t kMost = 1 << 14;
constexpr char kWhat[] = "reading a device's clock";

// Behind the end of the last round, every stamp falls into that round.
__global__ void note_time(unsigned long long* stamps, const unsigned* round, unsigned rounds, std::size_t slot) {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  const unsigned at = *round < rounds ? *round : rounds - 1;
  stamps[at * kMost + slot] = now;
}

__global__ void next_round(unsigned* round) { ++*round; }

}  // namespace

CudaTimeline::CudaTimeline(CudaDevice& device)
    : device_(device), stamps_(device, kRounds * kMost), round_(device, 1) {
  std::call_once(device.gpu().mark_measured, [this] { device_.gpu().seconds_a_mark = measure_mark(); });
  // Loaded here and not beside an exchange, as measuring has loaded the kernel of marks.
  end_round();
  device_.zero(round_.data(), sizeof(unsigned));
  device_.synchronize();
}

void CudaTimeline::stamp(cudaStream_t stream, std::size_t slot) {
  note_time<<<1, 1, 0, stream>>>(stamps_.data(), round_.data(), static_cast<unsigned>(kRounds), slot);
  check(cudaGetLastError(), kWhat);
}

void CudaTimeline::place(cudaStream_t stream, Phase phase, bool beside) {
  if (marks_.size() == kMost) throw Error("a recording has more phases than can be marked: use a shorter period");
  stamp(stream, marks_.size());
  marks_.push_back({phase, beside, 0});
  (beside ? beside_ : own_) = phase;
}

void CudaTimeline::mark(Phase phase) noexcept {
  if (failure_ != nullptr) return;
  try {
    // While a backward pass calls `ready`, exchanges and updates run on the stream beside, and all else goes on computing.
    if (device_.overlaps() && (phase == Phase::exchange || phase == Phase::optimizer))
      return place(device_.exchange_stream(), phase, true);
    if (beside_ != Phase::outside) place(device_.handles().exchange, Phase::outside, true);
    if (!device_.overlaps() || phase != own_) place(device_.queue(), phase, false);
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void CudaTimeline::end_round() {
  next_round<<<1, 1, 0, device_.queue()>>>(round_.data());
  check(cudaGetLastError(), kWhat);
}

std::vector<std::vector<PhaseEvent>> CudaTimeline::take() {
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  unsigned rounds = 0;
  device_.copy_to_host(&rounds, round_.data(), sizeof rounds);
  device_.synchronize();
  std::vector<std::vector<PhaseEvent>> all;
  std::vector<Nanoseconds> stamps(marks_.size());
  for (std::size_t round = 0; round < std::clamp<std::size_t>(rounds, 1, kRounds); ++round) {
    device_.copy_to_host(stamps.data(), stamps_.data() + round * kMost, stamps.size() * sizeof(Nanoseconds));
    device_.synchronize();
    for (std::size_t k = 0; k < marks_.size(); ++k) marks_[k].at = static_cast<double>(stamps[k]) * 1e-9;
    all.push_back(marks_);
  }
  marks_.clear();
  device_.zero(round_.data(), sizeof(unsigned));
  return all;
}

CudaTimeline::Nanoseconds CudaTimeline::read(std::size_t slot) {
  Nanoseconds stamp = 0;
  device_.copy_to_host(&stamp, stamps_.data() + slot, sizeof stamp);
  device_.synchronize();
  return stamp;
}

// Many in a row, recorded as steps are: the least of a few repetitions.
double CudaTimeline::measure_mark() {
  constexpr std::size_t kStamps = 256;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t runnable = nullptr;
  check(cudaStreamBeginCapture(device_.queue(), cudaStreamCaptureModeThreadLocal), kWhat);
  for (std::size_t slot = 0; slot < kStamps; ++slot) stamp(device_.queue(), slot);
  check(cudaStreamEndCapture(device_.queue(), &graph), kWhat);
  check(cudaGraphInstantiate(&runnable, graph, 0), kWhat);
  double least = 0;
  for (int repetition = 0; repetition < 3; ++repetition) {
    check(cudaGraphLaunch(runnable, device_.queue()), kWhat);
    const Nanoseconds first = read(0), last = read(kStamps - 1);
    const double seconds = static_cast<double>(last - first) * 1e-9 / static_cast<double>(kStamps - 1);
    least = repetition == 0 ? seconds : std::min(least, seconds);
  }
  cudaGraphExecDestroy(runnable);
  cudaGraphDestroy(graph);
  return least;
}

// The host's readings before and after a stamp hold the device's between them: those that lie closest say most.
double CudaTimeline::ahead() {
  double closest = 1e9, ahead = 0;
  for (int reading = 0; reading < 20; ++reading) {
    device_.synchronize();
    const double before = now();
    stamp(device_.queue(), 0);
    device_.synchronize();
    const double after = now();
    const double at = static_cast<double>(read(0)) * 1e-9;
    if (after - before >= closest) continue;
    closest = after - before;
    ahead = (before + after) / 2 - at;
  }
  return ahead;
}

}  // namespace mgcompare::cuda
