#pragma once

// Where a running trial is. It is kept in memory that the worker shares with the runner, so that the runner knows it after
// the worker crashed.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "results/activity.h"
#include "results/status.h"

namespace mgcompare {

struct Position {
  TrialPhase phase = TrialPhase::none;
  std::size_t epoch = 0;            // from 0
  std::size_t step = 0;             // of the epoch or the warm-up, from 1; 0: between steps
};

// Begins the note of a failed trial that says where it failed; text_of() follows.
inline constexpr char kFailedAt[] = "it failed ";

// "in step 20 of epoch 1 (training)", "before the trial began".
std::string text_of(const Position& position);

// Any number of readers, in any processes. The calls take some nanoseconds and never wait.
class LivePosition {
 public:
  // No other thread may write at the same time.
  void set(const Position& position);
  // Any number of threads. Sets a later step of the present phase and epoch, of a warm-up any other one, and does nothing for other
  // positions.
  void advance(const Position& position);
  // A position that no writer can have set, from damaged memory, is read as `none`.
  Position get() const;
  // That of a rank, counted over all hosts, which only its thread changes; null for ranks beyond the first 64.
  Activity* activity(std::size_t rank) { return rank < activities_.size() ? &activities_[rank] : nullptr; }
  // The position and what the ranks do: "in step 20 of epoch 1 (training), rank 0 in all_reduce(), rank 1 in own code".
  std::string text() const;
  // The position, and the strategy's call in which ranks are outside of steps: "in evaluation of epoch 1, in settle()". Without ranks, so
  // that repeats which crash in the same call have the same cause.
  std::string text_with_call() const;

  // The worker found its connection to the runner closed, and ends itself. Any number of threads.
  void cut_off() { is_cut_off_.store(true, std::memory_order_relaxed); }
  bool is_cut_off() const { return is_cut_off_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> packed_{0};  // from the highest bits: phase 8, epoch 24, step 32
  std::atomic<bool> is_cut_off_{false};
  std::array<Activity, 64> activities_;
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free, "processes share it");
};

}  // namespace mgcompare
