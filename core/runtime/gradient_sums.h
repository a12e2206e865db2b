#pragma once

// What an audit keeps of gradients: for each element their sum and the sum of their squares, and how many elements they had in all. Equal sums
// of two sequences leave changes unseen that a later gradient takes back; where both have as many elements, the squares show them.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mgcompare/device.h"
#include "mgcompare/types.h"

namespace mgcompare {

struct GradientSums {
  GradientSums() = default;
  explicit GradientSums(std::size_t parameters) : sum(parameters), squares(parameters) {}
  bool empty() const { return sum.empty(); }
  // The elements of one gradient in this range. `gradients` has all parameters, in memory of the host or of the device, for which this waits.
  // Several threads may add disjoint ranges at the same time.
  void add(Device& device, ConstVec gradients, Range range, bool on_host);
  // Of as many parameters.
  GradientSums& operator+=(const GradientSums& other);

  std::vector<double> sum, squares;
  std::uint64_t elements = 0;       // added, over all calls
};

}  // namespace mgcompare
