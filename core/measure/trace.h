#pragma once

// What a rank did in a few of its steps, as its host thread saw it: for chrome://tracing and Perfetto.

#include <cstddef>
#include <string>
#include <vector>

#include "measure/step_clock.h"

namespace mgcompare {

class Trace {
 public:
  static constexpr std::size_t kSteps = 8;

  struct Span {
    std::string name;               // "step 3", "compute", "all_reduce", "waiting", ...
    double begin = 0, seconds = 0;  // by the steady clock
  };

  bool wants_more() const { return steps_ < kSteps; }
  // A step from `begin` to `end`, and what the rank's clock kept of it. `number` is the rank's own count.
  void add(std::size_t number, double begin, double end, const std::vector<StepClock::Span>& stretches);
  // Every step as a whole and then its stretches, in order.
  const std::vector<Span>& spans() const { return spans_; }

 private:
  std::size_t steps_ = 0;
  std::vector<Span> spans_;
};

// The trace-event file (Chrome's "complete" events, times in microseconds from the first): a thread a rank.
std::string trace_json(const std::string& title, const std::vector<Trace>& ranks);

}  // namespace mgcompare
