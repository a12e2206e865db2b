#pragma once

// Between which factors a training scaled the learning rate of its updates.

#include <algorithm>
#include <limits>

namespace mgcompare {

struct RateRange {
  double least = std::numeric_limits<double>::infinity(), most = -least;  // of no update
  bool empty() const { return least > most; }
  void add(double scale) { add(RateRange{scale, scale}); }
  void add(const RateRange& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
  }
};

}  // namespace mgcompare
