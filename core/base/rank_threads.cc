#include "base/rank_threads.h"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "base/free_memory.h"
#include "base/settings.h"
#include "mgcompare/error.h"

namespace mgcompare {
namespace {

// Time for aborted ranks to unwind. If one takes longer, only its worker process is lost.
constexpr std::chrono::seconds kUnwindTimeout{5};

}  // namespace

void run_ranks(std::size_t ranks, const std::function<void(int rank)>& body, const std::function<void()>& abort,
               const Leave& leave) {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t running = ranks;
  std::exception_ptr first;
  bool aborted = false;

  const auto fail = [&](bool is_cause) {
    {
      const std::lock_guard lock(mutex);
      if (is_cause && !first) first = std::current_exception();
      if (aborted) return;
      aborted = true;
      changed.notify_all();
    }
    abort();
  };

  std::vector<std::thread> threads;
  threads.reserve(ranks);
  const auto start = [&](std::size_t rank) {
    threads.emplace_back([&, rank] {
      reset_arithmetic();
      pthread_setname_np(pthread_self(), ("rank " + std::to_string(rank)).substr(0, 15).c_str());  // in debuggers and profilers
      try {
        body(static_cast<int>(rank));
      } catch (const Aborted&) {
        fail(false);
      } catch (...) {
        fail(true);
      }
      const std::lock_guard lock(mutex);
      --running;
      changed.notify_all();
    });
  };
  try {
    while (threads.size() < ranks) start(threads.size());
  } catch (...) {
    // No further thread can be started. Those that wait for it must end.
    try {
      if (lacks_memory_for_stack()) throw std::bad_alloc();
      throw;
    } catch (...) {
      fail(true);
    }
    const std::lock_guard lock(mutex);
    running -= ranks - threads.size();
  }
  {
    std::unique_lock lock(mutex);
    const auto all_returned = [&] { return running == 0; };
    changed.wait(lock, [&] { return aborted || all_returned(); });
    if (leave && aborted) {
      changed.wait_for(lock, kUnwindTimeout, all_returned);
      leave(first ? first : std::make_exception_ptr(Aborted()));
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
  if (aborted) throw Aborted();
}

}  // namespace mgcompare
