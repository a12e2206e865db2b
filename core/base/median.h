#pragma once

#include <algorithm>
#include <vector>

namespace mgcompare {

// For an even count, the mean of the two middle values; 0 for an empty vector.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

}  // namespace mgcompare
