#include "train/epoch_orders.h"

#include <pthread.h>

#include <utility>

#include "base/processors.h"
#include "data/order.h"
#include "measure/processor_time.h"

namespace mgcompare {

EpochOrders::EpochOrders(std::size_t samples, std::uint64_t seed)
    : seed_(seed), order_(samples), next_order_(samples), thread_([this] { draw_on_request(); }) {}

EpochOrders::~EpochOrders() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void EpochOrders::draw_on_request() {
  const ServiceThread of_program;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_drawing_ || is_over_; });
    if (is_over_) return;
    const std::size_t epoch = *ahead_;
    lock.unlock();
    draw_order(next_order_, seed_, epoch);
    lock.lock();
    is_drawing_ = false;
    changed_.notify_all();
  }
}

void EpochOrders::draw_ahead(std::size_t epoch) {
  wait();
  if (!std::exchange(is_placed_, true))
    if (const std::optional<cpu_set_t> processors = thread_processors()) pthread_setaffinity_np(thread_.native_handle(), sizeof *processors, &*processors);
  {
    const std::lock_guard lock(mutex_);
    ahead_ = epoch;
    is_drawing_ = true;
  }
  changed_.notify_all();
}

void EpochOrders::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !is_drawing_; });
}

std::vector<std::uint32_t>& EpochOrders::take(std::size_t epoch) {
  wait();
  if (ahead_ == epoch) std::swap(order_, next_order_);
  else draw_order(order_, seed_, epoch);
  ahead_.reset();
  return order_;
}

}  // namespace mgcompare
