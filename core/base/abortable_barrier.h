#pragma once

// Blocking barrier for the ranks of one process; abort() releases all waiters.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "mgcompare/error.h"

namespace mgcompare {

class AbortableBarrier {
 public:
  explicit AbortableBarrier(std::size_t ranks) : ranks_(ranks) {}

  // Returns when all ranks have called it. Throws Aborted after abort().
  void wait() {
    std::unique_lock lock(mutex_);
    const std::uint64_t round = round_;
    if (++waiting_ == ranks_) {
      waiting_ = 0;
      ++round_;
      released_.notify_all();
    } else {
      released_.wait(lock, [&] { return aborted_ || round_ != round; });
    }
    if (aborted_) throw Aborted();
  }

  void abort() {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    released_.notify_all();
  }

 private:
  std::size_t ranks_;
  std::mutex mutex_;
  std::condition_variable released_;
  std::size_t waiting_ = 0;
  std::uint64_t round_ = 0;
  bool aborted_ = false;
};

}  // namespace mgcompare
