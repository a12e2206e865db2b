#pragma once

// The orders of samples: that of the present epoch, and that of the next one, which a thread draws meanwhile. All memory, the
// thread's included, is taken by the constructor, so that a trial needs no more of it later.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace mgcompare {

class EpochOrders {
 public:
  // See epoch_order() for the parameters. Throws std::system_error if there is no memory for a thread.
  EpochOrders(std::size_t samples, std::uint64_t seed);
  ~EpochOrders();
  EpochOrders(const EpochOrders&) = delete;
  EpochOrders& operator=(const EpochOrders&) = delete;

  // The members below are called by one thread at a time.
  // Begins to draw the order of this epoch, on the processors of the thread that first calls this: drawing takes no processor that the trial
  // does not have.
  void draw_ahead(std::size_t epoch);
  // Waits until it is drawn.
  void wait();
  // The order of this epoch, until the next call. Waits if it is being drawn, and draws it if it is not.
  std::vector<std::uint32_t>& take(std::size_t epoch);

 private:
  void draw_on_request();

  const std::uint64_t seed_;
  std::vector<std::uint32_t> order_, next_order_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::size_t> ahead_;  // the epoch of next_order_
  bool is_drawing_ = false, is_over_ = false;
  bool is_placed_ = false;
  std::thread thread_;
};

}  // namespace mgcompare
