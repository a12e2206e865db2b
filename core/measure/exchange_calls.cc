#include "measure/exchange_calls.h"

#include <algorithm>

namespace mgcompare {

std::vector<ExchangeCall> exchange_calls(const std::vector<PhaseEvent>& marks) {
  std::vector<const PhaseEvent*> own, beside;
  for (const PhaseEvent& mark : marks) (mark.beside ? beside : own).push_back(&mark);
  std::vector<ExchangeCall> calls;
  if (own.empty()) return calls;
  const double start = own.front()->at;
  for (const PhaseEvent* const mark : own)
    if (mark->phase == Phase::exchange) calls.push_back({mark->bytes, mark->at - start, mark->at - start, 0});
  for (auto mark = beside.begin(); mark != beside.end(); ++mark) {
    if ((*mark)->phase != Phase::exchange) continue;
    const double begin = (*mark)->at;
    const auto join = std::find_if(own.begin(), own.end(), [&](const PhaseEvent* one) { return one->at > begin; });
    ExchangeCall call{(*mark)->bytes, begin - start, (join == own.end() ? own.back()->at : (*join)->at) - start, 0};
    for (auto next = mark + 1; next != beside.end() && (*next)->phase != Phase::exchange; ++next)
      if ((*next)->phase != Phase::outside && next + 1 != beside.end()) call.after += (*(next + 1))->at - (*next)->at;
    calls.push_back(call);
  }
  std::stable_sort(calls.begin(), calls.end(), [](const ExchangeCall& a, const ExchangeCall& b) { return a.begin < b.begin; });
  return calls;
}

}  // namespace mgcompare
