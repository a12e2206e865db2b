#include "measure/trace.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

namespace mgcompare {

namespace {

// In the order of Phase.
constexpr auto kNames = std::to_array<const char*>(
    {"compute", "optimizer", "input", "exchange", "transfer", "waiting", "strategy", "host"});
static_assert(kNames.size() == kPhases);

}  // namespace

void Trace::add(std::size_t number, double begin, double end, const std::vector<StepClock::Span>& spans) {
  ++steps_;
  spans_.push_back({"step " + std::to_string(number), begin, end - begin});
  for (const StepClock::Span& each : spans)
    spans_.push_back({each.name != nullptr ? each.name : kNames[static_cast<std::size_t>(each.phase)], each.begin, each.end - each.begin});
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
