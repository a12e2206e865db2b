#include "timeline.h"

#include "launch.h"
#include "mgcompare/error.h"

namespace mgcompare::cuda {
namespace {

// Of one recording: 24 steps of a few exchanges each are some hundreds.
constexpr std::size_t kMostStamps = 1 << 14;

__global__ void note_time(volatile unsigned long long* to) {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  *to = now;
}

}  // namespace

Timeline::Timeline(Device& device) : stamps_(device, kMostStamps, true) {}

std::size_t Timeline::stamp(cudaStream_t stream) {
  if (next_ == kMostStamps) throw Error("a recording has more exchanges than can be timed: use a shorter period");
  note_time<<<1, 1, 0, stream>>>(stamps_.data() + next_);
  check(cudaGetLastError(), "timing exchanges");
  return next_++;
}

void Timeline::begin_exchange(cudaStream_t stream) { exchanges_.push_back({stamp(stream), 0}); }

void Timeline::end_exchange(cudaStream_t stream, bool beside) {
  exchanges_.back().second = stamp(stream);
  if (!beside) waits_.push_back(exchanges_.back());
}

void Timeline::begin_wait(cudaStream_t stream) { waits_.push_back({stamp(stream), 0}); }
void Timeline::end_wait(cudaStream_t stream) { waits_.back().second = stamp(stream); }

double Timeline::seconds(const Span& span) const {
  const unsigned long long begin = stamps_[span.first], end = stamps_[span.second];
  return end <= begin ? 0 : static_cast<double>(end - begin) * 1e-9;
}

std::vector<double> Timeline::exchanges() const {
  std::vector<double> all;
  for (const Span& span : exchanges_) all.push_back(seconds(span));
  return all;
}

double Timeline::exposed() const {
  double sum = 0;
  for (const Span& span : waits_) sum += seconds(span);
  return sum;
}

}  // namespace mgcompare::cuda
