#include "trace.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace mgcompare {

void Trace::begin_step(std::size_t number, double now) {
  if (steps_.size() == kSteps) return;
  steps_.push_back({{"step " + std::to_string(number), now, 0}, {}});
  open_ = true;
}

void Trace::end_step(double now) {
  if (!open_) return;
  steps_.back().whole.seconds = now - steps_.back().whole.begin;
  open_ = false;
}

void Trace::call(const std::string& name, double begin, double waited, double seconds) {
  if (!open_) return;
  std::vector<Span>& calls = steps_.back().calls;
  // A call inside of another one (an exchange while a lock is held) is that one's time.
  while (!calls.empty() && calls.back().begin >= begin) calls.pop_back();
  if (waited > 0) calls.push_back({"waiting", begin, std::min(waited, seconds)});
  if (seconds > waited) calls.push_back({name, begin + std::max(0.0, waited), seconds - std::max(0.0, waited)});
}

std::vector<Trace::Span> Trace::spans() const {
  std::vector<Span> all;
  for (const Step& step : steps_) {
    all.push_back(step.whole);
    double now = step.whole.begin;
    const double end = step.whole.begin + step.whole.seconds;
    for (const Span& call : step.calls) {
      if (call.begin > now) all.push_back({"compute", now, call.begin - now});
      all.push_back(call);
      now = call.begin + call.seconds;
    }
    if (end > now) all.push_back({"compute", now, end - now});
  }
  return all;
}

std::string trace_json(const std::string& title, const std::vector<Trace>& ranks) {
  using Json = nlohmann::ordered_json;
  double first = std::numeric_limits<double>::max();
  for (const Trace& rank : ranks)
    for (const Trace::Span& span : rank.spans()) first = std::min(first, span.begin);
  Json events = Json::array();
  events.push_back({{"ph", "M"}, {"name", "process_name"}, {"pid", 0}, {"args", {{"name", title}}}});
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    events.push_back({{"ph", "M"},
                      {"name", "thread_name"},
                      {"pid", 0},
                      {"tid", rank},
                      {"args", {{"name", "rank " + std::to_string(rank)}}}});
    for (const Trace::Span& span : ranks[rank].spans()) {
      events.push_back({{"ph", "X"},
                        {"name", span.name},
                        {"pid", 0},
                        {"tid", rank},
                        {"ts", (span.begin - first) * 1e6},
                        {"dur", span.seconds * 1e6}});
    }
  }
  const Json json = {{"displayTimeUnit", "ms"}, {"traceEvents", events}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace mgcompare
