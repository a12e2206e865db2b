#pragma once

// The first steps of a rank by the clock of its host thread, for chrome://tracing and Perfetto.

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
    double begin = 0, seconds = 0;  // seconds of now()
  };

  bool wants_more() const { return steps_ < kSteps; }
  // Adds a step and the spans that the rank's clock kept of it. `number` counts the rank's steps.
  void add(std::size_t number, double begin, double end, const std::vector<StepClock::Span>& spans);
  // For each step: the whole step, followed by its spans in order.
  const std::vector<Span>& spans() const { return spans_; }

 private:
  std::size_t steps_ = 0;
  std::vector<Span> spans_;
};

// A file in Chrome's trace-event format ("complete" events, in microseconds since the first), with one thread per rank.
std::string trace_json(const std::string& title, const std::vector<Trace>& ranks);

}  // namespace mgcompare
