#include "ranks.h"

#include <mutex>
#include <thread>
#include <vector>

#include "mgcompare/error.h"

namespace mgcompare {

void run_ranks(std::size_t ranks, const std::function<void(int rank)>& body, const std::function<void()>& abort) {
  std::mutex mutex;
  std::exception_ptr first;
  bool aborted = false;

  const auto fail = [&](bool is_cause) {
    {
      const std::lock_guard lock(mutex);
      if (is_cause && !first) first = std::current_exception();
      if (aborted) return;
      aborted = true;
    }
    abort();
  };

  std::vector<std::thread> threads;
  threads.reserve(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(static_cast<int>(rank));
      } catch (const Aborted&) {
        fail(false);
      } catch (...) {
        fail(true);
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
  if (aborted) throw Aborted();
}

}  // namespace mgcompare
