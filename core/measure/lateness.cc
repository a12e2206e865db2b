#include "measure/lateness.h"

#include <algorithm>
#include <numeric>

namespace mgcompare {

double lateness(const std::vector<double>& step_seconds, std::size_t ranks) {
  const std::size_t size = std::min(ranks, step_seconds.size()), groups = size == 0 ? 0 : step_seconds.size() / size;
  double late = 0;
  for (std::size_t group = 0; group < groups; ++group) {
    const auto begin = step_seconds.begin() + static_cast<std::ptrdiff_t>(group * size), end = begin + static_cast<std::ptrdiff_t>(size);
    late += *std::max_element(begin, end) - std::accumulate(begin, end, 0.0) / static_cast<double>(size);
  }
  return groups == 0 ? 0 : late / static_cast<double>(groups);
}

}  // namespace mgcompare
