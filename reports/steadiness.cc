#include "reports/steadiness.h"

#include <algorithm>
#include <vector>

#include "median.h"

namespace mgcompare {

std::optional<Steadiness> steadiness_of(const Result& result) {
  std::vector<double> rates;
  for (const WindowResult& window : result.windows) rates.push_back(window.samples_per_second());
  if (rates.size() < 2 || !(*std::min_element(rates.begin(), rates.end()) > 0)) return std::nullopt;
  const auto half = static_cast<std::ptrdiff_t>(rates.size() / 2);  // of an odd count the middle one is in neither
  const double first = median({rates.begin(), rates.begin() + half}), last = median({rates.end() - half, rates.end()});
  const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
  return Steadiness{(*most - *least) / median(rates), last / first - 1};
}

}  // namespace mgcompare
