#pragma once

// A barrier for the ranks of one process that sleeps, and that an error opens.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "mgcompare/error.h"

namespace mgcompare {

class AbortableBarrier {
 public:
  explicit AbortableBarrier(std::size_t ranks) : ranks_(ranks) {}

  // Returns when all ranks have come; throws Aborted when one never will.
  void wait() {
    std::unique_lock lock(mutex_);
    const std::uint64_t round = round_;
    if (++came_ == ranks_) {
      came_ = 0;
      ++round_;
      everyone_came_.notify_all();
    } else {
      everyone_came_.wait(lock, [&] { return aborted_ || round_ != round; });
    }
    if (aborted_) throw Aborted();
  }

  void abort() {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    everyone_came_.notify_all();
  }

 private:
  std::size_t ranks_;
  std::mutex mutex_;
  std::condition_variable everyone_came_;
  std::size_t came_ = 0;
  std::uint64_t round_ = 0;
  bool aborted_ = false;
};

}  // namespace mgcompare
