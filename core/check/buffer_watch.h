#pragma once

// Whether the running statistics of batch normalisation are what the passes made of them.
//
// A pass of rank r changes each element x to f_r(x) = m x + (1 - m) s: m is the momentum of the layer, s the statistic of the
// rank's samples. A strategy may also exchange statistics, as long as it mixes those of the ranks: average or broadcast them,
// in any step. Whatever it mixes, an element then stays between two values that follow from the passes alone: after each step
//   least = min over ranks of f_r(least),   most = max over ranks of f_r(most),
// because every f_r is increasing, and a mean lies between the values that it is made of. Both are equal with one rank, and
// where the ranks share their statistics (batch_norm: sync).
//
// Free-running ranks have no common step. Between the extremes of the initial value and of all s until now is then the most
// that can be said.

#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

namespace mgcompare {

// Called by all ranks, each on its own thread. Values are all buffers of a rank.
class BufferWatch {
 public:
  using Values = std::vector<float>;
  // `momentum`: of each element.
  BufferWatch(std::size_t ranks, bool is_lockstep, std::vector<double> momentum);

  // Before the first step of a rank.
  void begin(const Values& values);
  // A pass has changed the rank's buffers.
  void pass(std::size_t rank, const Values& before, const Values& after);
  // In lockstep: the rank has made a step.
  void end_step(std::size_t rank);
  // The rank's buffers at the end of an epoch.
  void judge(std::size_t rank, const Values& values);

  // How far a value was outside of its interval at most, in multiples of what rounding explains: some units of 6e-8 of the
  // largest value for each of the last 1 / (1 - m) steps. 1 or less: nowhere.
  double largest_excess() const;

 private:
  // The passes of one rank in one step: x becomes factor x + offset.
  struct Step {
    std::vector<double> factor, offset;
  };
  struct Judged {
    std::size_t step;               // steps made before
    Values values;
  };
  void begin_step(std::size_t rank);
  void fold();
  void judge_waiting();
  void compare(const Values& values);
  void grow();

  const bool is_lockstep_;
  const std::vector<double> momentum_;
  mutable std::mutex mutex_;
  std::vector<double> least_, most_, largest_;  // largest_: absolute value so far
  std::vector<std::deque<Step>> steps_;  // of each rank, which other ranks have not made yet; the last one is not finished
  std::vector<std::size_t> made_;        // steps of each rank
  std::size_t folded_ = 0;
  std::vector<Judged> waiting_;          // until all ranks have made as many steps
  double excess_ = 0;
};

}  // namespace mgcompare
