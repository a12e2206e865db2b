#pragma once

// Blocking barrier for the ranks of one process; abort() releases all waiters.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mgcompare/error.h"

namespace mgcompare {

// It must outlive all calls: join the ranks, or pass another barrier, before it is destroyed.
//
// Ranks wait for the number of the round to change, without a mutex that each would have to lock again when it is woken: where there are more
// ranks than processors, much of the time of short steps is spent there.
class AbortableBarrier {
 public:
  explicit AbortableBarrier(std::size_t ranks) : ranks_(ranks) {}

  // Returns when all ranks have called it. Throws Aborted after abort().
  void wait() {
    const std::uint32_t entered = state_.load();
    if (entered & kAborted) throw Aborted();
    if (waiting_.fetch_add(1) + 1 == ranks_) {
      waiting_.store(0);  // before the next round begins
      state_.fetch_add(kRound);
      state_.notify_all();
    } else {
      state_.wait(entered);
    }
    if (state_.load() & kAborted) throw Aborted();
  }

  void abort() {
    state_.fetch_or(kAborted);
    state_.notify_all();
  }

 private:
  static constexpr std::uint32_t kAborted = 1, kRound = 2;

  std::size_t ranks_;
  std::atomic<std::size_t> waiting_ = 0;
  std::atomic<std::uint32_t> state_ = 0;  // the number of the round, times kRound, and kAborted
};

}  // namespace mgcompare
