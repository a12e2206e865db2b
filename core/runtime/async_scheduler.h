#pragma once

// In what order ranks that run freely meet. All asynchronous meetings of ranks go through one of these. Live: as they
// come. Virtual: by a clock that only training advances, so that a run is a pure function of its seed. Replay: as they
// met in an earlier run, stripe by stripe.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/schedule_log.h"

namespace mgcompare {

class AsyncScheduler {
 public:
  virtual ~AsyncScheduler() = default;
  // Runs f alone among those of its stripe (virtual: alone, and in the order of the clocks).
  virtual void exclusive(std::size_t rank, std::size_t stripe, const std::function<void()>& f) = 0;
  // Sleeps until the predicate holds; it is asked while no exclusive runs.
  virtual void wait_until(std::size_t rank, const std::function<bool()>& predicate) = 0;
  // The rank has computed this many samples' worth.
  virtual void spend(std::size_t rank, double samples) = 0;
  // Between these two calls of a rank its meetings are ordered; outside, exclusives are only mutually exclusive. All
  // ranks enter before any meets (a barrier lies between).
  virtual void enter(std::size_t rank, std::size_t epoch) = 0;
  virtual void leave(std::size_t rank) = 0;
  // Wakes every rank that sleeps here, now and later, with Aborted.
  virtual void abort() = 0;
};

std::unique_ptr<AsyncScheduler> live_scheduler();
std::unique_ptr<AsyncScheduler> virtual_time_scheduler(std::size_t ranks, std::uint64_t seed);
// Both outlive it. `record` gets the order in which ranks meet in `pace`.
std::unique_ptr<AsyncScheduler> recording_scheduler(std::unique_ptr<AsyncScheduler> scheduler, std::size_t ranks, ScheduleLog& record);
std::unique_ptr<AsyncScheduler> replay_scheduler(std::size_t ranks, const ScheduleLog& record);

}  // namespace mgcompare
