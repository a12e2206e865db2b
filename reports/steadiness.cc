#include "reports/steadiness.h"

#include <algorithm>
#include <vector>

#include "base/median.h"

namespace mgcompare {

std::optional<Steadiness> steadiness_of(const Result& result) {
  const std::size_t count = result.windows.size();
  if (count < 2) return std::nullopt;
  std::vector<double> rates, first, last;
  for (std::size_t i = 0; i < count; ++i) {
    rates.push_back(result.windows[i].samples_per_second());
    // With an odd number the middle window is in neither half.
    if (i < count / 2) first.push_back(rates.back());
    if (i >= count - count / 2) last.push_back(rates.back());
  }
  const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
  if (!(*least > 0)) return std::nullopt;
  return Steadiness{(*most - *least) / median(rates), median(last) / median(first) - 1};
}

}  // namespace mgcompare
