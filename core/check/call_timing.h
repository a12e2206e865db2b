#pragma once

// How long a call takes that devices queue, made by one rank alone or by all ranks together.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/clock.h"
#include "base/median.h"
#include "check/doctor_ranks.h"

namespace mgcompare {

// Its results are medians of seconds per call, from batches long enough that the clock and the final synchronization do not matter.
class CallTiming {
 public:
  explicit CallTiming(DoctorRanks& ranks) : ranks_(ranks) {}

  template <class Call>
  double alone(std::size_t rank, Call call) const {
    Device& device = *ranks_.devices[rank];
    const auto batch = [&](std::size_t calls) {
      const double start = now();
      for (std::size_t i = 0; i < calls; ++i) call();
      device.synchronize();
      return now() - start;
    };
    batch(1);
    std::size_t calls = 1;
    for (double took = batch(1); too_short(took, calls); took = batch(calls)) calls = more_calls(calls, took);
    return median_of(batch, calls);
  }

  // Every rank calls it. Rank 0 decides on the number of calls.
  template <class Call>
  double together(std::size_t rank, Call call) {
    Device& device = *ranks_.devices[rank];
    const auto batch = [&](std::size_t calls) {
      ranks_.barrier.wait();
      const double start = now();
      for (std::size_t i = 0; i < calls; ++i) call();
      device.synchronize();
      ranks_.barrier.wait();
      return now() - start;
    };
    batch(1);
    std::size_t calls = 1;
    for (double took = batch(calls);; took = batch(calls)) {
      if (rank == 0) next_calls_ = too_short(took, calls) ? more_calls(calls, took) : calls;
      ranks_.barrier.wait();
      if (next_calls_ == calls) break;
      calls = next_calls_;
    }
    return median_of(batch, calls);
  }

 private:
  static constexpr std::size_t kMaxCalls = 1u << 16;

  bool too_short(double took, std::size_t calls) const { return took < ranks_.effort.seconds && calls < kMaxCalls; }

  std::size_t more_calls(std::size_t calls, double took) const {
    const double factor = std::clamp(std::ceil(1.2 * ranks_.effort.seconds / std::max(took, 1e-7)), 2.0, 16.0);
    return std::min(kMaxCalls, calls * static_cast<std::size_t>(factor));
  }

  template <class Batch>
  double median_of(Batch batch, std::size_t calls) const {
    std::vector<double> repeats;
    for (int i = 0; i < ranks_.effort.repeats; ++i) repeats.push_back(batch(calls) / static_cast<double>(calls));
    return median(repeats);
  }

  DoctorRanks& ranks_;
  std::size_t next_calls_ = 1;  // of the batch that follows
};

}  // namespace mgcompare
