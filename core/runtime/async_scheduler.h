#pragma once

// The order in which free-running ranks access shared state. All asynchronous access goes through one of these schedulers:
// live, in the order of arrival; virtual time, by clocks that only training advances, so that a run is a pure function of its
// seed; replay, in the order of an earlier run, stripe by stripe.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/schedule_log.h"

namespace mgcompare {

class AsyncScheduler {
 public:
  virtual ~AsyncScheduler() = default;
  // Runs f while no other section of the stripe runs (virtual time: no other section at all, in the order of the clocks).
  virtual void exclusive(std::size_t rank, std::size_t stripe, const std::function<void()>& f) = 0;
  // Blocks until the predicate holds. It is evaluated while no exclusive section runs.
  virtual void wait_until(std::size_t rank, const std::function<bool()>& predicate) = 0;
  // Advances the rank's virtual clock by the cost of this many samples; does nothing without such clocks.
  virtual void spend(std::size_t rank, double samples) = 0;
  virtual bool has_clocks() const { return false; }
  // The scheduler orders the sections of a rank between these two calls; outside of them, sections are only mutually
  // exclusive. All ranks must have entered before the first section: put a barrier between.
  virtual void enter(std::size_t rank, std::size_t epoch) = 0;
  virtual void leave(std::size_t rank) = 0;
  // Releases all ranks that wait, now and later, with Aborted. Any thread.
  virtual void abort() = 0;
};

std::unique_ptr<AsyncScheduler> live_scheduler();
std::unique_ptr<AsyncScheduler> virtual_time_scheduler(std::size_t ranks, std::uint64_t seed);
// Writes the order in which `scheduler` runs the sections of ranks to `log`, which must outlive it.
std::unique_ptr<AsyncScheduler> recording_scheduler(std::unique_ptr<AsyncScheduler> scheduler, std::size_t ranks, ScheduleLog& log);
// `log` must outlive it. Throws Error where the trial does not follow the log.
std::unique_ptr<AsyncScheduler> replay_scheduler(std::size_t ranks, const ScheduleLog& log);

}  // namespace mgcompare
