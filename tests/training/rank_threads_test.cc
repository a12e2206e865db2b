#include "base/rank_threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <new>

namespace mgcompare {
namespace {

constexpr std::size_t kRanks = 64, kStacks = 4;

// Leaves address space for some stacks of 8 MiB.
void limit_address_space() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = pages * 4096 + (kStacks << 23);
  setrlimit(RLIMIT_AS, &limit);
}

TEST(RankThreads, ThatCannotAllBeStartedEndTheOthers) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer cannot start";
#endif
  const auto starts = [] {
    limit_address_space();
    std::mutex mutex;
    std::condition_variable changed;
    bool aborted = false;
    std::atomic<std::size_t> ended{0};
    const auto wait = [&](int) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return aborted; });
      ++ended;
    };
    const auto abort = [&] {
      const std::lock_guard lock(mutex);
      aborted = true;
      changed.notify_all();
    };
    try {
      run_ranks(kRanks, wait, abort);
    } catch (const std::bad_alloc&) {
      std::_Exit(ended < kRanks ? 3 : 4);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(starts(), ::testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace mgcompare
