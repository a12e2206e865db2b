#pragma once

// What a rank did in a few of its steps, as its host thread saw it: for chrome://tracing and Perfetto.

#include <cstddef>
#include <string>
#include <vector>

namespace mgcompare {

class Trace {
 public:
  static constexpr std::size_t kSteps = 8;

  struct Span {
    std::string name;               // "step 3", "compute", "all_reduce", "waiting", ...
    double begin = 0, seconds = 0;  // by the steady clock
  };

  bool is_open() const { return open_; }
  // Nothing is kept outside of these two calls, and nothing after kSteps of them. `number` is the rank's own count.
  void begin_step(std::size_t number, double now);
  void end_step(double now);
  // A call that began then and waited for others first.
  void call(const std::string& name, double begin, double waited, double seconds);
  // The spans in order, with what lies between calls as "compute".
  std::vector<Span> spans() const;

 private:
  struct Step {
    Span whole;
    std::vector<Span> calls;        // none overlaps another, in order
  };
  std::vector<Step> steps_;
  bool open_ = false;
};

// The trace-event file (Chrome's "complete" events, times in microseconds from the first): a thread a rank.
std::string trace_json(const std::string& title, const std::vector<Trace>& ranks);

}  // namespace mgcompare
