#include "runtime/async_scheduler.h"

#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "mgcompare/error.h"
#include "mgcompare/random.h"

namespace mgcompare {
namespace {

class LiveScheduler : public AsyncScheduler {
 public:
  void exclusive(std::size_t, std::size_t stripe, const std::function<void()>& f) override {
    {
      // Sections share this lock; predicates take it exclusively, so none is evaluated while a section runs.
      const std::shared_lock barrier(barrier_);
      const std::lock_guard lock(stripes_[stripe % stripes_.size()]);
      check_abort();
      f();
    }
    const std::lock_guard lock(mutex_);
    ++changes_;
    changed_.notify_all();
  }

  void wait_until(std::size_t, const std::function<bool()>& predicate) override {
    for (;;) {
      std::unique_lock lock(mutex_);
      const std::uint64_t seen = changes_;
      if (aborted_) throw Aborted();
      lock.unlock();
      {
        const std::unique_lock barrier(barrier_);
        if (predicate()) return;
      }
      lock.lock();
      changed_.wait(lock, [&] { return aborted_ || changes_ != seen; });
    }
  }

  void spend(std::size_t, double) override {}
  void enter(std::size_t, std::size_t) override {}
  void leave(std::size_t) override {}

  void abort() override {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    changed_.notify_all();
  }

 private:
  void check_abort() {
    const std::lock_guard lock(mutex_);
    if (aborted_) throw Aborted();
  }

  std::shared_mutex barrier_;
  std::array<std::mutex, 256> stripes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t changes_ = 0;
  bool aborted_ = false;
};

// Discrete-event simulation over real threads: the rank with the smallest (clock, number) runs the next section. A rank that
// computes cannot start a section before its own clock, so others wait for it only while its clock is the smallest.
class VirtualTimeScheduler : public AsyncScheduler {
 public:
  VirtualTimeScheduler(std::size_t ranks, std::uint64_t seed) : states_(ranks), seed_(seed) {}

  void exclusive(std::size_t rank, std::size_t, const std::function<void()>& f) override {
    std::unique_lock lock(mutex_);
    wait_for_turn(lock, rank);
    f();
    release_blocked(states_[rank].clock);
    turn_.notify_all();
  }

  void wait_until(std::size_t rank, const std::function<bool()>& predicate) override {
    std::unique_lock lock(mutex_);
    wait_for_turn(lock, rank);
    if (predicate()) return;
    State& state = states_[rank];
    state.blocked_on = &predicate;
    turn_.notify_all();
    turn_.wait(lock, [&] { return aborted_ || deadlocked_ || state.blocked_on == nullptr || (state.inside && all_are_blocked()); });
    // The predicate is the caller's, and gone when this call ends.
    if (std::exchange(state.blocked_on, nullptr) == nullptr && !aborted_) return;
    if (aborted_) throw Aborted();
    deadlocked_ = true;
    turn_.notify_all();
    throw Error("deadlock: every rank waits for another rank; check the conditions that the strategy passes to wait_until()");
  }

  bool has_clocks() const override { return true; }
  void spend(std::size_t rank, double samples) override {
    const std::lock_guard lock(mutex_);
    State& state = states_[rank];
    // Up to 10 % of jitter, so that ranks neither run in lockstep nor repeat one order.
    const float jitter = Random(seed_, 0x7061636500000000ull + rank).uniform(state.draws++);
    state.clock += samples * (1.0 + 0.1 * static_cast<double>(jitter));
    turn_.notify_all();
  }

  // Clocks restart in each epoch, so that a resumed trial has the order of an uninterrupted one.
  void enter(std::size_t rank, std::size_t epoch) override {
    const std::lock_guard lock(mutex_);
    states_[rank].clock = 0;
    states_[rank].draws = static_cast<std::uint64_t>(epoch) << 32;
    states_[rank].inside = true;
  }

  void leave(std::size_t rank) override {
    const std::lock_guard lock(mutex_);
    states_[rank].inside = false;
    turn_.notify_all();
  }

  void abort() override {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    turn_.notify_all();
  }

 private:
  struct State {
    double clock = 0;
    std::uint64_t draws = 0;
    bool inside = false;
    const std::function<bool()>* blocked_on = nullptr;
  };

  bool is_next(std::size_t rank) const {
    const double clock = states_[rank].clock;
    for (std::size_t other = 0; other < states_.size(); ++other) {
      const State& state = states_[other];
      if (other == rank || !state.inside || state.blocked_on != nullptr) continue;
      if (state.clock < clock || (state.clock == clock && other < rank)) return false;
    }
    return true;
  }

  void wait_for_turn(std::unique_lock<std::mutex>& lock, std::size_t rank) {
    if (states_[rank].inside) turn_.wait(lock, [&] { return aborted_ || is_next(rank); });
    if (aborted_) throw Aborted();
  }

  void release_blocked(double now) {
    for (State& state : states_) {
      if (state.blocked_on == nullptr || !(*state.blocked_on)()) continue;
      state.blocked_on = nullptr;
      if (state.clock < now) state.clock = now;
    }
  }

  bool all_are_blocked() const {
    for (const State& state : states_)
      if (state.inside && state.blocked_on == nullptr) return false;
    return true;
  }

  std::vector<State> states_;
  std::uint64_t seed_;
  std::mutex mutex_;
  std::condition_variable turn_;
  bool aborted_ = false;
  bool deadlocked_ = false;         // all ranks that wait throw
};

class RecordingScheduler : public AsyncScheduler {
 public:
  RecordingScheduler(std::unique_ptr<AsyncScheduler> scheduler, std::size_t ranks, ScheduleLog& log)
      : scheduler_(std::move(scheduler)), orders_(ranks, nullptr), log_(log) {}

  void exclusive(std::size_t rank, std::size_t stripe, const std::function<void()>& f) override {
    scheduler_->exclusive(rank, stripe, [&] {
      if (orders_[rank] != nullptr) {
        const std::lock_guard lock(mutex_);
        (*orders_[rank])[stripe].push_back(static_cast<std::uint32_t>(rank));
      }
      f();
    });
  }
  void wait_until(std::size_t rank, const std::function<bool()>& predicate) override { scheduler_->wait_until(rank, predicate); }
  void spend(std::size_t rank, double samples) override { scheduler_->spend(rank, samples); }
  bool has_clocks() const override { return scheduler_->has_clocks(); }
  void enter(std::size_t rank, std::size_t epoch) override {
    {
      const std::lock_guard lock(mutex_);
      orders_[rank] = &log_.epochs[epoch];
    }
    scheduler_->enter(rank, epoch);
  }
  void leave(std::size_t rank) override {
    orders_[rank] = nullptr;
    scheduler_->leave(rank);
  }
  void abort() override { scheduler_->abort(); }

 private:
  std::unique_ptr<AsyncScheduler> scheduler_;
  std::vector<ScheduleLog::Order*> orders_;  // of the present epoch, or null; each entry is used by its rank only
  std::mutex mutex_;
  ScheduleLog& log_;
};

// Each section waits for its rank's turn at its stripe. Predicates only delay: the log already contains their effect.
class ReplayScheduler : public AsyncScheduler {
 public:
  ReplayScheduler(std::size_t ranks, const ScheduleLog& log) : states_(ranks), log_(log) {}

  void exclusive(std::size_t rank, std::size_t stripe, const std::function<void()>& f) override {
    std::unique_lock lock(mutex_);
    if (states_[rank].inside) {
      wait(lock, rank, [&] { return is_next(rank, stripe); });
      ++next_[stripe];
    }
    check_abort();
    f();
    changed_.notify_all();
  }

  void wait_until(std::size_t rank, const std::function<bool()>& predicate) override {
    std::unique_lock lock(mutex_);
    wait(lock, rank, predicate);
  }

  void spend(std::size_t, double) override {}

  void enter(std::size_t rank, std::size_t epoch) override {
    const std::lock_guard lock(mutex_);
    const auto found = log_.epochs.find(epoch);
    if (found == log_.epochs.end()) throw mismatch();
    order_ = &found->second;
    next_.clear();
    states_[rank].inside = true;
  }

  void leave(std::size_t rank) override {
    const std::lock_guard lock(mutex_);
    states_[rank].inside = false;
    changed_.notify_all();
  }

  void abort() override {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    changed_.notify_all();
  }

 private:
  struct State {
    bool inside = false;
    std::function<bool()> waits_for;  // empty: the rank is not waiting
  };

  static Error mismatch() {
    return Error("the recorded order does not fit this trial: it was made with another config, rank count or version");
  }
  void check_abort() const {
    if (aborted_) throw Aborted();
  }

  bool is_next(std::size_t rank, std::size_t stripe) {
    const auto logged = order_->find(stripe);
    if (logged == order_->end()) return false;
    const std::size_t at = next_[stripe];
    return at < logged->second.size() && logged->second[at] == rank;
  }

  // No rank runs and none can continue: the log expects a rank that does not come.
  bool is_stuck() const {
    for (const State& state : states_)
      if (state.inside && (!state.waits_for || state.waits_for())) return false;
    return true;
  }

  void wait(std::unique_lock<std::mutex>& lock, std::size_t rank, const std::function<bool()>& condition) {
    check_abort();
    if (condition()) return;
    State& state = states_[rank];
    state.waits_for = condition;
    changed_.notify_all();
    changed_.wait(lock, [&] { return aborted_ || condition() || (state.inside && is_stuck()); });
    state.waits_for = nullptr;
    check_abort();
    if (!condition()) throw mismatch();
  }

  std::vector<State> states_;
  const ScheduleLog& log_;
  const ScheduleLog::Order* order_ = nullptr;
  std::map<std::size_t, std::size_t> next_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool aborted_ = false;
};

}  // namespace

std::unique_ptr<AsyncScheduler> live_scheduler() { return std::make_unique<LiveScheduler>(); }
std::unique_ptr<AsyncScheduler> virtual_time_scheduler(std::size_t ranks, std::uint64_t seed) {
  return std::make_unique<VirtualTimeScheduler>(ranks, seed);
}

std::unique_ptr<AsyncScheduler> recording_scheduler(std::unique_ptr<AsyncScheduler> scheduler, std::size_t ranks, ScheduleLog& log) {
  return std::make_unique<RecordingScheduler>(std::move(scheduler), ranks, log);
}
std::unique_ptr<AsyncScheduler> replay_scheduler(std::size_t ranks, const ScheduleLog& log) {
  return std::make_unique<ReplayScheduler>(ranks, log);
}

}  // namespace mgcompare
