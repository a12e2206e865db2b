#include "measure/exchange_calls.h"

#include <algorithm>

namespace mgcompare {
namespace {

ExchangeCall call_of(const PhaseEvent& mark, double start) {
  const double begin = mark.at - start;
  return {mark.size.bytes, begin, begin, 0, mark.size.call == nullptr ? "" : mark.size.call, mark.size.payload};
}

}  // namespace

std::vector<ExchangeCall> exchange_calls(const std::vector<PhaseEvent>& marks) {
  std::vector<const PhaseEvent*> own, beside;
  for (const PhaseEvent& mark : marks) (mark.beside ? beside : own).push_back(&mark);
  std::vector<ExchangeCall> calls;
  if (own.empty()) return calls;
  const double start = own.front()->at;
  for (const PhaseEvent* const mark : own)
    if (mark->phase == Phase::exchange) calls.push_back(call_of(*mark, start));
  for (auto mark = beside.begin(); mark != beside.end(); ++mark) {
    if ((*mark)->phase != Phase::exchange) continue;
    const double begin = (*mark)->at;
    const auto join = std::find_if(own.begin(), own.end(), [&](const PhaseEvent* one) { return one->at > begin; });
    ExchangeCall call = call_of(**mark, start);
    call.join = (join == own.end() ? own.back()->at : (*join)->at) - start;
    for (auto next = mark + 1; next != beside.end() && (*next)->phase != Phase::exchange; ++next)
      if ((*next)->phase != Phase::outside && next + 1 != beside.end()) call.after += (*(next + 1))->at - (*next)->at;
    calls.push_back(call);
  }
  std::stable_sort(calls.begin(), calls.end(), [](const ExchangeCall& a, const ExchangeCall& b) { return a.begin < b.begin; });
  return calls;
}

}  // namespace mgcompare
